"""The scripts in benchmarks/: those that take long do their work in small, and the figures of
measured runs that docs/ gives are what they print of the committed bundles."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURED = sorted(result.parent for result in (ROOT / "submissions/reference").rglob("result.json"))


def printed_by(script: str, *arguments: object) -> str:
    command = [sys.executable, ROOT / "benchmarks" / script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("script", "bundles", "says"),
    [
        ("check_bundles.py", 2, "2 bundles, 2 pass: "),
        ("check_stages.py", 1, "ms  manifest"),
        ("report.py", len(MEASURED), f"{len(MEASURED)} passed, 0 failed"),
    ],
)
def test_rounds_that_are_timed_are_good_ones(script: str, bundles: int, says: str) -> None:
    assert says in printed_by(script, "--bundles", bundles)


def rows(script: str) -> list[list[str]]:
    """The cells of the rows that the script prints, heads left out."""
    lines = [
        line.strip("| ").split(" | ")
        for line in printed_by(script, *MEASURED).splitlines()
        if line.startswith("| ")
    ]
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
