"""MLPerf Tiny in energy mode: results.txt of the runner of EEMBC.

Source: https://github.com/mlcommons/tiny. Each window has energy in uJ, power in uW, inferences and
runtime. The result is the median of the energies per inference.
"""

import re
from collections.abc import Iterator
from statistics import median

from checker.audit.folder import Folder, UnreadableError, take_number
from rules.audit.row import Basis, Check, Figure, Row, Scope, Topic

TITLE = "MLPerf Tiny, energy mode (results.txt)"
RESULTS = "results.txt"
_ENERGY_WINDOW = re.compile(r"Energy data for window (\d+) at time")
_PERFORMANCE_WINDOW = re.compile(r"Performance results for window (\d+)")
_FIELDS = {
    "energy": re.compile(r"ulp-ml: +Energy +: +(\S+) uJ"),
    "power": re.compile(r"ulp-ml: +Power +: +(\S+) uW"),
    "per_inference": re.compile(r"ulp-ml: +Energy/Inf\. +: +(\S+) uJ"),
    "inferences": re.compile(r"ulp-ml: +# Inferences +: +(\S+)"),
    "runtime": re.compile(r"ulp-ml: +Runtime +: +(\S+) sec"),
}
_MEDIAN = re.compile(r"Median energy cost is (\S+) uJ")


def find(folder: Folder) -> Iterator[str]:
    """Results with windows of energy."""
    if folder.has(RESULTS) and _ENERGY_WINDOW.search(folder.read_head(RESULTS)):
        yield RESULTS


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of all windows."""
    actual = folder.locate(name)
    windows, stated_uj = _read_windows(folder, name)
    complete = [w for w in windows.values() if _FIELDS.keys() <= w.keys() and w["inferences"] > 0]
    if not complete or len(complete) != len(windows):
        raise UnreadableError(
            actual, "has a window without energy, power, inferences or runtime; restore the file"
        )
    checks = [check for n, w in windows.items() for check in _check_window(n, w)]
    median_uj = median(w["energy"] / w["inferences"] for w in complete)
    if stated_uj is not None:
        quantity, how = "median energy per inference", "the median over the windows"
        checks.append(
            Check(Topic.RATE, quantity, "uJ", stated_uj, median_uj, how, by_construction=True)
        )
    energy_j = sum(w["energy"] for w in complete) / 1e6
    duration_s = sum(w["runtime"] for w in complete)
    inferences = sum(w["inferences"] for w in complete)
    yield Row(
        source="mlperf-tiny",
        place=actual,
        files=(name,),
        scope=Scope.DEVICE,
        unit="inference",
        duration_s=duration_s,
        energy_j=Figure(energy_j, Basis.STATED, f"the sum of {len(complete)} windows"),
        items=Figure(inferences, Basis.STATED, "inferences of the windows"),
        joules_per_item=Figure(
            median_uj / 1e6, Basis.DERIVED, "the median over the windows, as MLPerf Tiny does"
        ),
        mean_power_w=energy_j / duration_s if duration_s > 0 else None,
        checks=tuple(checks),
        silent=tuple(f"window {n}: 0 uJ" for n, w in windows.items() if w["energy"] == 0),
        missing=("samples",),
        remarks=("the scope is the supply of the microcontroller",),
    )


def _read_windows(folder: Folder, name: str) -> tuple[dict[str, dict[str, float]], float | None]:
    """The figures of each window by its number, and the stated median."""
    windows: dict[str, dict[str, float]] = {}
    stated, current = None, ""
    for number, line in enumerate(folder.read_text(name).splitlines(), 1):
        found = _ENERGY_WINDOW.search(line) or _PERFORMANCE_WINDOW.search(line)
        if found:
            current = found[1]
        for key, pattern in _FIELDS.items():
            match = pattern.search(line)
            if match and current:
                cell = {key: match[1]}
                value = take_number(cell, key, folder.locate(name), f"line {number}")
                windows.setdefault(current, {})[key] = value or 0.0
        if match := _MEDIAN.search(line):
            stated = take_number({"median": match[1]}, "median", folder.locate(name))
    return windows, stated


def _check_window(number: str, window: dict[str, float]) -> Iterator[Check]:
    per_inference = window["energy"] / window["inferences"]
    yield Check(
        *(Topic.RATE, f"window {number}: energy per inference", "uJ"),
        *(window["per_inference"], per_inference, "energy / inferences"),
    )
    computed = window["power"] * window["runtime"]
    how = "power x runtime"
    quantity = f"window {number}: energy"
    yield Check(Topic.POWER_TIMES_TIME, quantity, "uJ", window["energy"], computed, how)
