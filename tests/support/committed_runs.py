"""The committed runs that were measured on real boards."""

import json
from pathlib import Path

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
