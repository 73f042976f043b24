"""The example for JUBE with the commands of docs/regression.md, on simulated accelerators."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.console.blocks import DOCS, ROOT, list_blocks_of

pytestmark = pytest.mark.skipif(
    shutil.which("jube") is None, reason="jube is not installed (.ci/run has its package)"
)
(BLOCK,) = list_blocks_of(__file__, DOCS / "regression.md")
RUN, RESULT = BLOCK.text.splitlines()
SIMULATED = "--simulate h200 --epoch-seconds 0.1"
SETTINGS = {
    "resnet50-train,vitl16-train": "resnet50-train",
    "--system /path/to/system.toml": SIMULATED,
    "/path/to/submissions/CENTER/SYSTEM": "${jube_benchmark_home}/../../round",
}
"""What the test adapts in the file of the example."""


def execute(command: str, folder: Path) -> str:
    """Execute a command and return its output. Fails if it fails."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    process = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def read_figures(bundle: Path) -> list[float]:
    """The items/s and the J/item of a bundle."""
    headline = json.loads((bundle / "result.json").read_text())["headline"]
    return [headline[name]["mean"] for name in ("items_per_s", "joules_per_item")]


def test_jube_shows_the_figures_of_its_run_beside_those_of_the_round(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    file = tmp_path / "examples/jube/wattmark.xml"
    text = file.read_text()
    for old, new in SETTINGS.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text)
    execute(f"bench-submit run resnet50-train {SIMULATED} --out round", tmp_path)
    execute(RUN, tmp_path)
    printed = execute(RESULT, tmp_path)
    (row,) = (line for line in printed.splitlines() if "resnet50-train" in line)
    _, workload, variant, *figures, _ = (cell.strip() for cell in row.split("|"))
    (run,) = tmp_path.glob("examples/jube/wattmark_runs/*/*_run/work/bundles/*/")
    (reference,) = tmp_path.glob("round/*/")
    pairs = zip(read_figures(run), read_figures(reference), strict=True)
    expected = [figure for pair in pairs for figure in pair]
    assert (workload, variant) == ("resnet50-train", "tuned")
    assert list(map(float, figures)) == pytest.approx(expected, rel=1e-4)
