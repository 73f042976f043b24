"""Zeus: the log of a ZeusMonitor, and summaries of its trace of power limits.

Source: https://github.com/ml-energy/zeus. The log has one row per window, with the energy of each
board in J. Windows may overlap, so they are never added.
"""

import re
from collections.abc import Iterator

from checker.audit.folder import Folder, Json, require_number, take_number, take_text
from rules.audit.row import Basis, Figure, Row

TITLE = "Zeus (monitor logs, trace of power limits)"
_LOG_COLUMNS = {"start_time", "window_name", "elapsed_time"}
_TRACE_COLUMNS = {"power_limit", "time_per_epoch", "average_power"}
_BOARD = re.compile(r"gpu(\d+)_energy")
_TRACE_BOARD = re.compile(r"power_(\w+)\.csv")


def find(folder: Folder) -> Iterator[str]:
    """CSV files with the columns of either."""
    for name in folder.names:
        if name.endswith(".csv"):
            columns = folder.read_header(name)
            if _LOG_COLUMNS.issubset(columns) or _TRACE_COLUMNS.issubset(columns):
                yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each window or setting."""
    is_log = _LOG_COLUMNS.issubset(folder.read_header(name))
    for number, cells in enumerate(folder.read_rows(name), 2):
        place = f"row {number}"
        yield (_read_window if is_log else _read_setting)(cells, name, place)


def _read_window(cells: Json, name: str, place: str) -> Row:
    columns = [column for column in cells if _BOARD.fullmatch(column)]
    energies_j = [require_number(cells, column, name, place) for column in columns]
    duration_s = require_number(cells, "elapsed_time", name, place)
    energy_j = sum(energies_j)
    return Row(
        source="zeus",
        place=f"{name} {place}",
        files=(name,),
        workload=f"window {take_text(cells, 'window_name')}",
        boards=len(columns) or None,
        duration_s=duration_s,
        energy_j=Figure(energy_j, Basis.STATED, "the sum of the boards") if columns else None,
        mean_power_w=energy_j / duration_s if columns and duration_s > 0 else None,
        silent=tuple(
            f"{column}: 0 J in {duration_s:.4g} s"
            for column, value in zip(columns, energies_j, strict=True)
            if value == 0 and duration_s > 0
        ),
        missing=("samples", "items", "name of the boards", "power cap"),
        remarks=(
            "windows may overlap: do not add them",
            "on boards without a counter, Zeus integrates power and does not say so",
        ),
    )


def _read_setting(cells: Json, name: str, place: str) -> Row:
    power_w = require_number(cells, "average_power", name, place)
    duration_s = require_number(cells, "time_per_epoch", name, place)
    match = _TRACE_BOARD.search(name)
    how = "average_power x time_per_epoch"
    return Row(
        source="zeus",
        place=f"{name} {place}",
        files=(name,),
        workload=" ".join(
            take_text(cells, key) for key in ("network", "dataset", "batch_size", "optimizer")
        ),
        board=match[1] if match else "",
        boards=1,
        unit="epoch",
        duration_s=duration_s,
        energy_j=Figure(power_w * duration_s, Basis.DERIVED, how),
        items=Figure(1.0, Basis.STATED, "one epoch"),
        mean_power_w=power_w,
        cap_w=take_number(cells, "power_limit", name, place),
        silent=("average_power: 0 W",) if power_w == 0 else (),
        missing=("samples", "number of images in an epoch"),
        remarks=("the energy holds if power and time are those of the same epochs",),
    )
