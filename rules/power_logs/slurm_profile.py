"""Energy series of Slurm's profiles (acct_gather_profile/hdf5), as the CSV that `sh5util` extracts.

The harness gives the lines of the HDF5 file itself in the same form. Each row has the
step and the node, the time of the reading, and its powers: one of the node, or one of each GPU. All
steps of a node read the same meter. Sources: the plugins acct_gather_energy and sh5util.c of Slurm.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.cells import parse_number
from rules.power_logs.csv_log import split_line
from rules.power_logs.local_time import check_ns
from rules.power_logs.records import POWER, Interval, LogReading, PowerLog, PowerLogError

NAME = "slurm-profile"
COLUMNS = ("Step", "Node", "ElapsedTime", "EpochTime")
"""The columns before the powers."""
NODE_POWERS = ("Power", "NodePower", "CurrPower")
"""The power of a node, as the energy plugins call it: rapl, pm_counters and ibmaem; ipmi; xcc."""
_GPU_POWER = re.compile(r"(GPU\d+)Power")
_DELIMITER = ","
_OVERLAP = (
    "several steps of a node read the same meter; give the profile of one step, such as the file "
    "JOB_batch_NODE.h5, or the rows of one step"
)


@dataclass(frozen=True)
class _Columns:
    """Where the cells of a row are."""

    header: list[str]
    powers: tuple[tuple[int, str], ...]
    """Index and what is measured: a GPU, or the node if that is empty."""


def recognise(line: str) -> bool:
    """Whether a line is the header of such a table."""
    return {*COLUMNS} <= {*split_line(line, _DELIMITER)}


def parse(source: LogSource) -> PowerLog:
    """Read a log. Raises PowerLogError if it has no readings of a known power."""
    columns: _Columns | None = None
    builder = LogBuilder(source)
    steps: dict[str, list[str]] = {}
    """The steps of each node."""
    last_rows: dict[tuple[str, str], list[str]] = {}
    for number, line in source.lines:
        cells = split_line(line, _DELIMITER)
        if recognise(line):
            columns = _find_columns(source, cells)
        elif columns is not None and line.strip():
            try:
                reading = _parse_row(number, cells, columns)
            except (ValueError, OverflowError) as error:
                source.add_torn(number, str(error))
                continue
            step, node = cells[0], cells[1]
            # Slurm writes the last reading of a meter again until there is a new one.
            row = cells[len(COLUMNS) - 1 :]
            if last_rows.get((step, node)) != row:
                last_rows[step, node] = row
                builder.add(reading)
            if step not in steps.setdefault(node, []):
                steps[node].append(step)
    overlaps = any(len(of_node) > 1 for of_node in steps.values())
    log = builder.build(
        NAME,
        "UTC",
        Interval.INSTANT,
        adds=not overlaps,
        overlap=_OVERLAP if overlaps else "",
        part="accelerators" if columns is not None and columns.powers[0][1] else "",
        nodes=tuple(steps),
    )
    if not overlaps:
        return log
    # In the order of the builder, whose series are those of the pairs.
    pairs = zip(last_rows, log.series, strict=True)
    return replace(log, series=tuple(series.head_feeds(f"{step}/") for (step, _), series in pairs))


def _find_columns(source: LogSource, header: list[str]) -> _Columns:
    """The powers of a table. Raises PowerLogError if it has no known one."""
    if tuple(header[: len(COLUMNS)]) == COLUMNS:
        for name in NODE_POWERS:
            if name in header:
                return _Columns(header, ((header.index(name), ""),))
        gpus = [(i, match[1]) for i, n in enumerate(header) if (match := _GPU_POWER.fullmatch(n))]
        if gpus:
            return _Columns(header, tuple(gpus))
    raise PowerLogError(
        f"{source.path}: the energy series of this profile has the columns {', '.join(header)}, "
        f"and no power of a node ({', '.join(NODE_POWERS)}) or of its GPUs (GPU0Power); read it "
        "with --format csv and a --map that names its columns"
    )


def _parse_row(number: int, cells: Sequence[str], columns: _Columns) -> LogReading:
    """The reading of a row. Raises ValueError, which says what is wrong."""
    if len(cells) != len(columns.header):
        raise ValueError(f"{len(cells)} cells instead of {len(columns.header)}")
    step, node, _, time = cells[: len(COLUMNS)]
    if not time.isdecimal() or len(time) > 10:
        raise ValueError(f"the time {time[:40]!r}, not in whole s since 1970")
    layout = tuple((f"{node}/{gpu}" if gpu else node, POWER) for _, gpu in columns.powers)
    values = tuple(parse_number(cells[index], ".", "power", 1.0) for index, _ in columns.powers)
    return LogReading(number, check_ns(int(time) * 10**9), layout, values, f"{step}\n{node}")
