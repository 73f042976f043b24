"""scripts/simulated_sweep.py: its page, how it goes on, and the command of docs/simulated.md
with one short sweep."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from support.console.blocks import DOCS, ROOT, list_blocks_of

from rules.metrics.sweeps.points import Point

SCRIPT = "scripts/simulated_sweep.py"


@pytest.fixture
def script_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/simulated_sweep.py with its build directory in `tmp_path`."""
    spec = importlib.util.spec_from_file_location("simulated_sweep", ROOT / SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclass looks for it
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "SUBMISSIONS", tmp_path / "submissions")
    return module


def test_page_of_simulated_sweeps_has_differences_peaks_and_marks(
    script_module: ModuleType,
) -> None:
    points = (
        Point(200.0, 110.0, 1.0, False),
        Point(300.0, 95.0, 2.0, True),
        Point(400.0, 100.0, 4.0, True),
    )
    sweep = script_module.SimulatedSweep(
        "H100",
        "resnet50-train",
        points,
        {200.0: 100, 300.0: 100, 400.0: 100},
        300,
    )
    text = "\n".join(
        script_module.render_section(
            [
                sweep,
                replace(sweep, board="MI300X", stated_peak_w=None),
                replace(sweep, board="H200", stated_peak_w=400),
            ]
        )
    )
    prose = " ".join(text.split())  # its lines are wrapped
    assert "at most 10.0 %" in prose and "1 of 1 efficiency peaks that" in prose
    assert '"for most workloads": 0 of 1 other peaks' in prose
    assert "9 runs" in prose
    assert "| H100 | resnet50-train | 200 to 400 | 200 | 300 | 300 | 10.0 |" in text
    assert "| MI300X | resnet50-train | 200 to 400 | 200 | not stated | 300 | 10.0 |" in text
    assert "| 200 | 400 for most workloads | 300 | 10.0 |" in text


def test_every_published_row_of_the_five_workloads_is_in_a_simulated_sweep(
    script_module: ModuleType,
) -> None:
    swept = list(script_module.read_sweeps())
    assert len(swept) == 15 and sum(len(sweep.published) for sweep in swept) == 95
    stated = [sweep for sweep in swept if sweep.stated_peak_w is not None]
    assert (len(stated), sum(sweep.is_one_of_most for sweep in stated)) == (10, 4)


def test_simulated_sweep_that_has_a_plan_goes_on_with_it(
    script_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(command: list[object], **_: object) -> subprocess.CompletedProcess:
        commands.append([str(argument) for argument in command[1:]])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(script_module.subprocess, "run", run)
    out = tmp_path / "submissions/demo/h200/sd2-train"
    assert script_module.run_sweep("h200", "sd2-train") == 0
    out.mkdir(parents=True)
    (out / "x.sweep.json").touch()
    assert script_module.run_sweep("h200", "sd2-train") == 0
    assert commands[0][:4] == ["sweep", "sd2-train", "--simulate", "h200"] and commands[0][-2:] == [
        "--out",
        str(out),
    ]
    assert commands[1] == ["sweep", "--resume", str(out / "x.sweep.json")]


def test_command_of_the_page_sweeps_signs_checks_and_reports(
    script_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two caps of one workload on one board, and a report without other bundles."""
    (block,) = list_blocks_of(__file__, DOCS / "simulated.md")
    run = subprocess.run

    def run_smaller(command: list[object], **options: object) -> subprocess.CompletedProcess:
        words = [word for word in command if word != ROOT / "submissions"]
        caps = ["--caps", "400,700"] if "sweep" in words else []
        return run([*words, *caps], **options)

    # A make that runs this test may have other flags.
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    recipe = run(
        [*block.text.split(), "--dry-run"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"/python {SCRIPT}\n" in recipe.stdout
    monkeypatch.setattr(script_module, "BOARDS", {"h200": "H200"})
    monkeypatch.setattr(script_module, "WORKLOADS", ("resnet50-train",))
    monkeypatch.setattr(script_module, "OTHER_EPOCH_S", 0.1)
    (tmp_path / "page.md").write_text(
        "# Page\n\n<!-- begin sweeps -->\n<!-- end sweeps -->\n\nEnd.\n"
    )
    monkeypatch.setattr(script_module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(script_module.subprocess, "run", run_smaller)
    assert script_module.main() == 0
    bundles = script_module.list_bundles()
    assert len(bundles) == 2 and all((bundle / "signatures").exists() for bundle in bundles)
    assert all(bundle.name in (tmp_path / "report.html").read_text() for bundle in bundles)
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# Page\n") and page.endswith("\n\nEnd.\n")
    assert "makes 2 runs" in page and "| H200 | resnet50-train | 200 to 700 |" in page
