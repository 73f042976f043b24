"""The figures of measured runs that docs/ gives are what the scripts in benchmarks/ print of the committed bundles."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURED = sorted(result.parent for result in (ROOT / "submissions/reference").rglob("result.json"))


def rows(script: str) -> list[list[str]]:
    """The cells of the rows that the script prints, heads left out."""
    command = [sys.executable, ROOT / "benchmarks" / script, *MEASURED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    return [cells for cells in lines if cells[0] != "run"]


def test_agreement_of_each_run_is_in_the_page() -> None:
    page = (ROOT / "docs/measurement.md").read_text()
    printed = rows("agreement.py")
    assert len(printed) == len(MEASURED)
    for name, *figures in printed:
        assert f"| {' | '.join(figures)} |" in page, name


def test_throughput_of_each_run_is_in_the_page() -> None:
    page = (ROOT / "docs/performance.md").read_text()
    printed = rows("reached.py")
    several = [path for path in MEASURED if path.parent.name != "h200"]
    assert len(printed) == len(MEASURED) + len(several)
    for name, *figures in printed[: len(MEASURED)]:
        items_per_s, watts = figures[2].partition(" (")[0], figures[3]
        assert f"| {items_per_s}" in page and f" {watts} |" in page, name
    for name, per_accelerator, of_one, efficiency, *_ in printed[len(MEASURED) :]:
        assert f" {per_accelerator} " in page, name
        assert f" {of_one} | {efficiency} " in page, name
