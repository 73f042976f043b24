"""Reads Slurm's profiles in HDF5 (acct_gather_profile/hdf5), as lines of the CSV that `sh5util`
extracts of them.

The file of a step on a node, `JOB_STEP_NODE.h5`, has the table `/NODE/Energy`. The file of a job,
which `sh5util` merges, has `/Steps/STEP/Nodes/NODE/Energy`. Sources: acct_gather_profile_hdf5.c and
sh5util.c of Slurm.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.extras import advise_extra
from rules.power_logs.records import PowerLogError

MAGIC = b"\x89HDF\r\n\x1a\n"
_SERIES = "Energy"
_FILE_NAME = re.compile(r"\d+_(batch|\d+)_.+\.h5")
_EXTRACT = (
    "write its readings as CSV with sh5util -j JOB --extract --series=Energy "
    "--level=Node:TimeSeries, and read that"
)
_ROWS_AT_ONCE = 2**16
_WRONG_FILE = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError)
"""What h5py raises for a file that is damaged."""


def read_profile(path: Path) -> Iterator[str]:
    """Give the lines of a profile, the header first. Raises PowerLogError if h5py is not installed,
    or if the file is damaged or has no energy series."""
    try:
        import h5py
    except ImportError:
        raise PowerLogError(
            f"{path}: this is an HDF5 file, such as a profile of Slurm, and h5py is not installed; "
            f"{advise_extra('hdf5')}, or {_EXTRACT}"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            yield from _list_lines(path, file)
    except _WRONG_FILE as error:
        raise PowerLogError(
            f"{path}: the HDF5 file cannot be read ({error}); if it is damaged or cut, copy it "
            "again from its source"
        ) from None


def _list_lines(path: Path, file: Any) -> Iterator[str]:
    """Raises PowerLogError if there is no table, or if tables have other columns than the first."""
    header: tuple[str, ...] | None = None
    for step, node, table in _find_tables(path, file):
        columns = table.dtype.names
        if header is None:
            header = columns
            yield ",".join(("Step", "Node", *columns))
        if columns != header:
            raise PowerLogError(
                f"{path}, {table.name}: the columns are {', '.join(columns)}, where those of other "
                f"tables are {', '.join(header)}; read the file JOB_STEP_NODE.h5 of each node"
            )
        for start in range(0, len(table), _ROWS_AT_ONCE):
            rows = table[start : start + _ROWS_AT_ONCE]
            for row in zip(*(rows[name].tolist() for name in columns), strict=True):
                yield ",".join((step, node, *map(str, row)))
    if header is None:
        raise PowerLogError(
            f"{path}: this HDF5 file has {', '.join(list(file)[:8]) or 'nothing'}, and no energy "
            "series of Slurm (/NODE/Energy, or /Steps/STEP/Nodes/NODE/Energy); run the job with "
            "--profile=energy, or export the log of another program as text"
        )


def _find_tables(path: Path, file: Any) -> Iterator[tuple[str, str, Any]]:
    """Step, node and table of each energy series."""
    if "Steps" in file:
        nodes = [
            (step, node, group)
            for step, of_step in file["Steps"].items()
            for node, group in of_step["Nodes"].items()
        ]
    else:
        match = _FILE_NAME.fullmatch(path.name)
        step = match[1] if match else "step"
        nodes = [(step, node, group) for node, group in file.items()]
    for step, node, group in nodes:
        # A step that was profiled for other series than energy has no such table.
        table = group.get(_SERIES) if hasattr(group, "get") else None
        if table is not None and table.dtype.names:
            yield step, node, table
