"""Puts the readings of a log together as columns."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rules.power_logs.local_time import LONGEST_NS, AmbiguousTimeError, LocalTimeError
from rules.power_logs.records import (
    Interval,
    Layout,
    LogReading,
    PowerLog,
    PowerLogError,
    Problems,
    Series,
)

if TYPE_CHECKING:
    from rules.power_logs.csv_map import CsvMap

OpenLines = Callable[[], AbstractContextManager[Iterator[tuple[int, str]]]]
"""Opens a log and gives its lines with their numbers from 1, without line ends."""
_QUANTITIES = 5
"""Power, volts, amperes, power factor and energy."""
TORN_ADVICE = "the line is left out; if this reading matters, take it from the meter's own memory"


@dataclass(frozen=True)
class LogBounds:
    """What a log has at most that is not trusted."""

    values: int
    feeds: int


@dataclass
class LogSource:
    """A log as the parsers of the formats read it."""

    path: Path
    lines: Iterator[tuple[int, str]]
    """Lines with their numbers from 1."""
    reopen: OpenLines
    head: Sequence[str] = ()
    """The first lines, which are among `lines` too."""
    zone: tzinfo | None = None
    """The time zone that the user declares for local times."""
    csv_map: "CsvMap | None" = None
    start_ns: int | None = None
    """What the user declares as time 0 of elapsed times, since 1970."""
    every_ns: int | None = None
    """What the user declares as the interval of a log without times."""
    bounds: LogBounds | None = None
    name: str = ""
    """The format, for a format that is an entry of a table."""
    problems: Problems = field(default_factory=Problems)
    torn: int = 0
    """How many lines have no whole reading."""
    interrupted: int = 0
    """How many of them the logger itself interrupts, now and then."""

    def place(self, count: int) -> int:
        """The time of the reading of a feed in ns before which it has `count` others, in a log
        without times. Raises PowerLogError."""
        assert self.every_ns is not None
        if count * self.every_ns > LONGEST_NS:
            raise PowerLogError(
                f"{self.path}: {count} readings with {self.every_ns / 1e9:g} s between two are "
                "more than ten years; state the seconds between two rows of a feed with --every"
            )
        return (self.start_ns or 0) + count * self.every_ns

    def add_torn(self, line: int, found: str) -> None:
        """Report a line that is no whole reading."""
        self.torn += 1
        self.problems.add("torn-line", line, found, TORN_ADVICE)

    def add_time_problem(self, line: int, error: LocalTimeError) -> None:
        """Report a local time that is not one instant."""
        kind = "ambiguous-time" if isinstance(error, AmbiguousTimeError) else "missing-time"
        self.torn += 1
        self.problems.add(
            kind, line, str(error), "the line is left out; let the logger write UTC or an offset"
        )


class _Columns:
    """The readings of one layout. Arrays of numbers, because a log may have millions of lines."""

    def __init__(self, width: int) -> None:
        self.lines, self.times_ns = array("q"), array("q")
        self.values = [array("d") for _ in range(width)]

    def add(self, reading: LogReading) -> None:
        self.lines.append(reading.line)
        self.times_ns.append(reading.time_ns)
        for column, value in zip(self.values, reading.values, strict=True):
            column.append(value)


class LogBuilder:
    """Collects readings and builds the log. Of each series it takes those with the most common
    layout. A line with other feeds or quantities is torn, even if each of its numbers can be read.
    """

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._series: dict[str, dict[Layout, _Columns]] = {}
        self._columns = self._values = 0

    def add(self, reading: LogReading) -> None:
        """Add a reading. Raises PowerLogError if the log has more than its bounds allow."""
        by_layout = self._series.setdefault(reading.series, {})
        columns = by_layout.get(reading.layout)
        width = len(reading.layout)
        if columns is None:
            columns = by_layout[reading.layout] = _Columns(width)
            self._columns += width
        self._values += width
        if (bounds := self._source.bounds) is not None and (
            self._values > bounds.values or self._columns > _QUANTITIES * bounds.feeds
        ):
            raise PowerLogError(
                f"{self._source.path}, line {reading.line}: more than {bounds.values} values, or "
                f"than {bounds.feeds} feeds; cut the log to the nodes and the time of the job"
            )
        columns.add(reading)

    def build(
        self, name: str, time_zone: str | None, interval: Interval, **statements: Any
    ) -> PowerLog:
        """The log, with what else it states (fields of PowerLog). Raises PowerLogError if there is
        no reading."""
        source = self._source
        if not self._series:
            raise PowerLogError(describe_no_readings(source, name))
        return PowerLog(
            format=name,
            series=tuple(map(self._choose_layout, self._series.values())),
            time_zone=time_zone,
            interval=interval,
            problems=source.problems,
            **statements,
        )

    def _choose_layout(self, by_layout: dict[Layout, _Columns]) -> Series:
        common = max(by_layout, key=lambda layout: len(by_layout[layout].lines))
        for layout, columns in by_layout.items():
            if layout != common:
                for line in columns.lines:
                    self._source.add_torn(
                        line,
                        f"values for {_describe_layout(layout)}, where most lines have "
                        f"{_describe_layout(common)}",
                    )
        columns = by_layout[common]
        return Series(
            lines=np.array(columns.lines, np.int64),
            times_ns=np.array(columns.times_ns, np.int64),
            columns={
                key: np.array(values, np.float64)
                for key, values in zip(common, columns.values, strict=True)
            },
        )


def describe_no_readings(source: LogSource, name: str) -> str:
    """Why a log has no readings: its first problems, if there are any."""
    reasons = [f"line {p.line}: {p.found}" for p in source.problems.list_all()[:3] if p.line]
    detail = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{source.path}: no line is a whole reading of the format {name}{detail}"


def _describe_layout(layout: Layout) -> str:
    return ", ".join(f"{feed} {quantity}" for feed, quantity in layout)
