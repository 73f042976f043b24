"""Timelines of LIKWID: `likwid-perfctr -t 1s -g ENERGY`.

The header `# GID|MetricsCount|CpuCount|Total runtime [s]|…` names the metrics. A line has the
number of the group, the two counts, the time since the start, and each metric of each hardware
thread. One thread of a socket has its power, the others have 0. Metrics are those of the time since
the line before. Source: src/applications/likwid-perfctr.lua of LIKWID 5.
"""

import re

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.records import POWER, Interval, LogReading, PowerLog

NAME = "likwid"
_HEADER = re.compile(r"# GID[|,]MetricsCount[|,]CpuCount[|,]")
_FIXED = 4
"""Cells before the metrics."""
_LONGEST_S = 1e8
_FEEDS = ("Power [W]", "Power DRAM [W]")
"""Socket and memory add up. Other powers are parts of the socket, or contain it."""
_LINE = re.compile(r"(?<!\d)(\d+)[ ,](\d+)[ ,](\d+)[ ,]\d")


def recognise(line: str) -> bool:
    """Whether a line shows that the log is of this format."""
    return _HEADER.search(line) is not None


def parse(source: LogSource) -> PowerLog:
    """Read a log. Raises PowerLogError if it has no readings."""
    builder = LogBuilder(source)
    metrics: list[str] = []
    for number, line in source.lines:
        if match := _HEADER.search(line):
            metrics = re.split(r"[|,]", line[match.start() :])[_FIXED:]
        elif (match := _LINE.search(line)) and metrics:
            try:
                reading = _parse_line(source, number, line[match.start() :], metrics)
            except (ValueError, OverflowError) as error:
                source.add_torn(number, str(error))
            else:
                if reading is not None:
                    builder.add(reading)
    elapsed = source.start_ns is None
    return builder.build(
        NAME,
        None if elapsed else "UTC",
        Interval.MEAN_BEFORE,
        elapsed=elapsed,
        from_start=True,
        begin_ns=source.start_ns or 0,
    )


def _parse_line(source: LogSource, number: int, line: str, metrics: list[str]) -> LogReading | None:
    """The reading of a line; None if its group has no power. Raises ValueError."""
    cells = re.split(r"[ ,]", line.strip())
    count, threads = int(cells[1]), int(cells[2])
    if count != len(metrics):
        return None  # another group of metrics
    if len(cells) != _FIXED + count * threads:
        raise ValueError(f"{len(cells)} cells instead of {_FIXED + count * threads}")
    powers: dict[str, float] = {}
    for feed in _FEEDS:
        if feed in metrics:
            first = _FIXED + metrics.index(feed) * threads
            powers[feed] = sum(map(float, cells[first : first + threads]))
    if not powers:
        return None
    time_s = float(cells[_FIXED - 1])
    if not 0 <= time_s < _LONGEST_S:
        raise ValueError(f"the time {cells[_FIXED - 1]!r}, not in s since the start")
    time_ns = (source.start_ns or 0) + round(time_s * 1e9)
    layout = tuple((feed, POWER) for feed in powers)
    return LogReading(number, time_ns, layout, tuple(powers.values()))
