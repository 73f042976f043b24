"""The committed runs that were measured on real boards."""

import json
from pathlib import Path

from rules.boards import find_board
from rules.metrics.power.series import MEASURED

SUBMISSIONS = Path(__file__).parents[2] / "submissions"


def find_workload_runs() -> list[Path]:
    """The bundles of measured runs of workloads below submissions/, without control runs: what is
    known of readings and clocks was found on workloads."""
    return sorted(
        path.parent
        for path in SUBMISSIONS.rglob("result.json")
        if json.loads(path.read_bytes())["standing"] != "control"
    )


def find_reference_runs() -> list[Path]:
    """Those of `find_workload_runs` that are in submissions/reference."""
    return [path for path in find_workload_runs() if "reference" in path.parts]


def find_studied_runs() -> list[Path]:
    """Those of `find_reference_runs` on boards that the statistics of readings were found on."""
    return [path for path in find_reference_runs() if _read_boards(path) <= set(MEASURED)]


def _read_boards(path: Path) -> set[str]:
    system = json.loads((path / "system.json").read_bytes())
    names = {board["name"] for node in system["nodes"] for board in node["accelerators"]}
    return {board.id for name in names if (board := find_board(name)) is not None}
