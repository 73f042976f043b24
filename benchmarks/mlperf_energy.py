"""Energies of MLPerf results with power, against a second parser that shares no code with the
audit.

python benchmarks/mlperf_energy.py DIRECTORY

DIRECTORY has results as MLCommons publishes them, such as those of the repositories
mlcommons/inference_results_v1.1 and mlcommons/training_results_v4.0. Prints each result that
differs by more than 0.1 %, the number of results of either kind, and the greatest difference.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from checker.audit.audit import audit  # noqa: E402
from rules.audit.row import Row, Scope  # noqa: E402

_SHOWN = 1e-3


def parse_time(text: str) -> float:
    return datetime.strptime(text, "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()


def read_entries(path: Path) -> Iterator[dict[str, object]]:
    for line in path.read_text(errors="replace").splitlines():
        _, token, text = line.partition(":::MLLOG")
        if token and text.lstrip().startswith("{"):
            yield json.loads(text)


def find_time_s(path: Path, key: str, first: bool = False) -> float:
    times = [float(str(e["time_ms"])) / 1e3 for e in read_entries(path) if e["key"] == key]
    return min(times) if first else max(times)


def integrate_node(path: Path, start_s: float, stop_s: float) -> float:
    """The energy of a node in J, with the power at both ends of the run interpolated."""
    readings = sorted(
        (float(str(e["time_ms"])) / 1e3, float(str(e["value"])))
        for e in read_entries(path)
        if e["key"] == "power_reading"
    )
    times_s, power_w = np.array(readings).T
    inner_s = times_s[(times_s > start_s) & (times_s < stop_s)]
    grid_s = np.unique([start_s, *inner_s, stop_s])
    grid_w = np.interp(grid_s, times_s, power_w)
    return float((np.diff(grid_s) * (grid_w[1:] + grid_w[:-1]) / 2).sum())


def compute_training_j(folder: Path, row: Row) -> float:
    result = folder / row.files[0]
    window = find_time_s(result, "run_start", first=True), find_time_s(result, "run_stop")
    return sum(integrate_node(folder / name, *window) for name in row.files[1:])


def compute_inference_j(folder: Path) -> float:
    """The mean of the readings in the window times its length, as MLCommons does."""
    marks = {e["key"]: str(e["value"]) for e in read_entries(folder / "mlperf_log_detail.txt")}
    start_s, stop_s = parse_time(marks["power_begin"]), parse_time(marks["power_end"])
    cells = [line.split(",") for line in (folder / "spl.txt").read_text().splitlines()]
    readings = [(parse_time(c[1]), float(c[3])) for c in cells if c[0] == "Time"]
    power_w = [power for time_s, power in readings if start_s < time_s < stop_s]
    return float(np.mean(power_w)) * (stop_s - start_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    differences: dict[str, list[float]] = {}
    for item in audit([parser.parse_args().directory]).rows:
        row, folder = item.row, item.path
        if not row.energy_j or row.scope == Scope.SWITCH:
            continue
        if row.source == "mlperf-training":
            second_j = compute_training_j(folder, row)
        elif row.source == "mlperf-inference":
            second_j = compute_inference_j(folder)
        else:
            continue
        difference = abs(row.energy_j.value / second_j - 1)
        differences.setdefault(row.source, []).append(difference)
        if difference > _SHOWN:
            print(f"{difference:.2%}  {folder / row.place}")
    for source, values in differences.items():
        print(f"{source}: {len(values)} results, greatest difference {max(values):.1e}")


if __name__ == "__main__":
    main()
