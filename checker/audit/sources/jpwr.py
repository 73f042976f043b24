"""jpwr: tables of power and energy of the devices of a program.

Source: https://github.com/FZJ-JSC/jpwr. power.csv has a time and one column in W per device,
energy.csv the energy of each in Wh, as the sum of each reading times the step before it.
"""

import re
from collections.abc import Iterator

import numpy as np

from checker.audit.folder import Folder, UnreadableError, require_number, take_number
from checker.audit.series import integrate, make_series
from rules.audit.row import Check, Row, Topic

TITLE = "jpwr (power.csv, energy.csv)"
_POWER = re.compile(r"(?P<stem>.*)power(?P<suffix>.*)\.csv")
_TIMES = "timestamps"
_J_PER_WH = 3600.0


def find(folder: Folder) -> Iterator[str]:
    """Tables of power with the time of jpwr."""
    for name in folder.names:
        columns = folder.read_header(name) if name.endswith(".csv") else ()
        if len(columns) > 2 and columns[:2] == ("", _TIMES):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the whole table."""
    actual = folder.locate(name)
    rows = folder.read_rows(name)
    devices = [column for column in folder.read_header(name)[2:] if column]
    if len(rows) < 2:
        raise UnreadableError(actual, "has fewer than two readings; restore the file")
    times_s = [require_number(row, _TIMES, actual, f"row {n}") for n, row in enumerate(rows, 2)]
    series = []
    for device in devices:
        powers_w = [take_number(row, device, actual, f"row {n}") for n, row in enumerate(rows, 2)]
        pairs = [(t, w) for t, w in zip(times_s, powers_w, strict=True) if w is not None]
        series.append(make_series(device, pairs, boards=1))
    summed = integrate(series)
    stated_j = _read_energies(folder, name)
    checks = [
        Check(
            *(Topic.ENERGY_OF_SAMPLES, f"energy of {item.label}", "J"),
            *(stated_j[item.label], part.energy_j, "the trapezoid of its readings"),
        )
        for item, part in zip(series, summed.parts, strict=True)
        if item.label in stated_j
    ]
    missing_devices = sorted(stated_j.keys() - set(devices))
    if missing_devices:
        raise UnreadableError(
            actual, f"has no column of {missing_devices[0]}, which energy.csv has; restore it"
        )
    steps_s = np.diff(np.array(times_s))
    remarks = ["the energy is that of the span of the readings"]
    if float(np.median(steps_s)) > 0 and float(steps_s.min()) < 0.1 * float(steps_s.max()):
        remarks.append("steps alternate, so there are fewer independent readings than rows")
    yield Row(
        source="jpwr",
        place=actual,
        files=(name, *_find_energies(folder, name)),
        boards=len(series),
        duration_s=summed.duration_s,
        energy_j=summed.figure,
        mean_power_w=summed.mean_power_w,
        checks=tuple(checks),
        traces=summed.traces,
        missing=("items", "window of the work", "name of the boards", "power cap"),
        remarks=tuple(remarks),
    )


def _find_energies(folder: Folder, name: str) -> list[str]:
    """The table of energies that belongs to a table of power."""
    match = _POWER.fullmatch(name)
    other = f"{match['stem']}energy{match['suffix']}.csv" if match else ""
    return [other] if other and folder.has(other) else []


def _read_energies(folder: Folder, name: str) -> dict[str, float]:
    """The stated energy in J by device."""
    energies_j = {}
    for other in _find_energies(folder, name):
        for number, row in enumerate(folder.read_rows(other), 2):
            device, *values = row.values()
            if len(values) == 1:
                energy = {"energy": values[0]}
                stated_wh = require_number(energy, "energy", folder.locate(other), f"row {number}")
                energies_j[str(device)] = _J_PER_WH * stated_wh
    return energies_j
