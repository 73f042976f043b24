"""The template of an own implementation, run as a user runs it: what its bundle says, and what is
said of one that is wrong."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.console.blocks import list_blocks_of
from support.lazy_module import LazyModule

from checker.engine import judge
from rules.bundle_format.files import read_files
from rules.contract import Job
from rules.testing.frames import read_frames
from rules.workloads import workloads

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples" / "my_resnet50.py"
GUIDE = ROOT / "docs" / "write-a-workload.md"
pytestmark = pytest.mark.xdist_group("torch")  # one test process imports it
torch = LazyModule("torch")


(BLOCK,) = list_blocks_of(__file__, GUIDE)
PATH, _, *PAGE_COMMAND = shlex.split(BLOCK.text.replace("\\\n", ""), comments=True)
"""The import path of the page, and the arguments of its run of the template in smoke size."""


def run_bench_submit(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The run of the page, with what lies in `tmp_path` on the import path too. Later arguments
    replace those of the page."""
    command = [*PAGE_COMMAND, "-o", str(tmp_path / "out"), *arguments]
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TEMPLATE.parent), str(tmp_path)])},
        capture_output=True,
        check=False,
        text=True,
        timeout=1200,  # two ranks compute on the CPU beside other tests
    )


def run_and_get_refusal(tmp_path: Path, *arguments: str) -> str:
    """What is said when it does not run, in one line; there is no traceback and no bundle."""
    result = run_bench_submit(tmp_path, *arguments)
    assert result.returncode != 0 and "Traceback" not in result.stdout + result.stderr
    assert not list(tmp_path.rglob("MANIFEST.json"))
    return " ".join(result.stderr.split())


def test_the_template_leaves_a_good_bundle_that_names_it(tmp_path):
    result = run_bench_submit(
        tmp_path,
        "--option",
        "layout=contiguous",
        "--gpus",
        "2",
    )
    assert f"PYTHONPATH={TEMPLATE.parent.name}" == PATH
    assert result.returncode == 0, result.stdout + result.stderr
    (bundle,) = (tmp_path / "out").iterdir()
    assert [f for f in judge(bundle, signed=False).findings if f.severity == "error"] == []
    evidence, problems = read_frames(read_files(bundle))
    assert evidence and not problems
    assert evidence.result["standing"] == "demo"
    implementation = evidence.result["implementation"]
    assert implementation["name"] == "my_resnet50:build"
    assert implementation["sha256"] == hashlib.sha256(TEMPLATE.read_bytes()).hexdigest()
    assert implementation["settings"]["layout"] == "contiguous"
    assert evidence.result["settings"]["options"] == {"layout": "contiguous"}
    assert len({e["loss"] for e in evidence.result["epochs"]}) > 1
    assert sorted(evidence.batches["rank"].unique()) == [0, 1]


def test_the_template_stays_short():
    assert len(TEMPLATE.read_text().splitlines()) <= 60


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--implementation", "my_resnet51:build"],
            "there is no module my_resnet51; install it, or put its directory on",
        ),
        (
            ["--implementation", "my_resnet50:biuld"],
            "my_resnet50:biuld: the module my_resnet50 has no function biuld",
        ),
        (
            ["--implementation", "my_resnet50:LAYOUTS"],
            "the module my_resnet50 has no function LAYOUTS",
        ),
        (["--option", "depth=5"], "--option depth: my_resnet50 knows only layout"),
        (["--option", "layout=x"], "layout=x: give channels_last or contiguous"),
    ],
)
def test_a_name_or_an_option_that_is_wrong_is_said(tmp_path, arguments, says):
    assert says in run_and_get_refusal(tmp_path, *arguments)


def test_a_demo_of_another_model_is_refused(tmp_path):
    (tmp_path / "smaller.py").write_text(
        "from dataclasses import replace\n"
        "import my_resnet50\n"
        "def build(job):\n"
        "    return replace(my_resnet50.build(job), parameters=23_512_130)\n"
    )
    output = run_and_get_refusal(tmp_path, "--implementation", "smaller:build")
    assert "built a model with 23512130 parameters; resnet50-train has 25557032" in output


def test_the_guide_names_rules_and_files_that_exist():
    links = re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text())
    assert len(links) > 3
    assert [link for link in links if not (GUIDE.parent / link).exists()] == []


class OneBatch:
    """A recorder that wants one batch and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str | int] = []

    def more(self) -> bool:
        return not self.told

    def start(self) -> None:
        self.told.append("start")

    def end(self, items: int, loss: torch.Tensor) -> None:
        self.told += ["end", items]
        assert loss.isfinite() and not loss.requires_grad


def test_the_template_in_full_size_is_the_workload(monkeypatch):
    monkeypatch.syspath_prepend(str(TEMPLATE.parent))
    full = workloads()["resnet50-train"].full
    built = importlib.import_module("my_resnet50").build(
        Job("resnet50-train", "baseline", "full", 1, 1, "cpu")
    )
    assert (built.parameters, built.input_shape) == (full.parameters, full.input_shape)
    recorder = OneBatch()
    built.run(recorder)
    assert recorder.told == ["start", "end", 1]


def test_the_pruned_example_stays_pruned_after_a_step(monkeypatch):
    monkeypatch.syspath_prepend(str(TEMPLATE.parent))
    example = importlib.import_module("pruned_vitl16")
    networks = []

    def keep_network(*args):
        networks.append(make_network(*args))
        return networks[-1]

    make_network = example.make_network
    monkeypatch.setattr(example, "make_network", keep_network)
    job = Job("vitl16-train", "tuned", "smoke", 1, 1, "cpu", options={"kept": "0.25"})
    built = example.build(job)
    (network,) = networks
    weight = network.blocks[0].mlp.fc1.weight
    before = weight.detach().clone()
    built.run(OneBatch())
    assert 0.2 < (before != 0).double().mean() < 0.3
    assert (weight[before == 0] == 0).all() and (weight != before).any()
    assert built.settings["kept"] == 0.25 and built.precision == "bf16"
