"""Puts the readings of a log together as columns."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.power_logs.local_time import AmbiguousTimeError, LocalTimeError
from harness.power_logs.records import Layout, LogReading, PowerLog, PowerLogError, Problems

if TYPE_CHECKING:
    from harness.power_logs.csv_map import CsvMap

TORN_ADVICE = "the line is left out; if this reading matters, take it from the meter's own memory"


@dataclass
class LogSource:
    """A log as the parsers of the formats read it."""

    path: Path
    lines: Iterator[tuple[int, str]]
    """Lines with their numbers from 1."""
    zone: tzinfo | None = None
    """The time zone that the user declares for local times."""
    csv_map: "CsvMap | None" = None
    problems: Problems = field(default_factory=Problems)

    def add_torn(self, line: int, found: str) -> None:
        """Report a line that is no whole reading."""
        self.problems.add("torn-line", line, found, TORN_ADVICE)

    def add_time_problem(self, line: int, error: LocalTimeError) -> None:
        """Report a local time that is not one instant."""
        kind = "ambiguous-time" if isinstance(error, AmbiguousTimeError) else "missing-time"
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
    """Collects readings and builds the log of those with the most common layout. A line with other
    feeds or quantities is torn, even if each of its numbers can be read."""

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._by_layout: dict[Layout, _Columns] = {}

    def add(self, reading: LogReading) -> None:
        """Add a reading."""
        columns = self._by_layout.get(reading.layout)
        if columns is None:
            columns = self._by_layout[reading.layout] = _Columns(len(reading.layout))
        columns.add(reading)

    def build(
        self,
        name: str,
        time_zone: str | None,
        interval_means: bool,
        current: str | None = None,
        conversion_efficiency: float | None = None,
    ) -> PowerLog:
        """The log. Raises PowerLogError if there is no reading."""
        source = self._source
        if not self._by_layout:
            raise PowerLogError(describe_no_readings(source, name))
        common = max(self._by_layout, key=lambda layout: len(self._by_layout[layout].lines))
        for layout, columns in self._by_layout.items():
            if layout != common:
                for line in columns.lines:
                    source.add_torn(
                        line,
                        f"values for {_describe_layout(layout)}, where most lines have "
                        f"{_describe_layout(common)}",
                    )
        columns = self._by_layout[common]
        return PowerLog(
            format=name,
            lines=np.array(columns.lines, np.int64),
            times_ns=np.array(columns.times_ns, np.int64),
            columns={
                key: np.array(values, np.float64)
                for key, values in zip(common, columns.values, strict=True)
            },
            time_zone=time_zone,
            interval_means=interval_means,
            current=current,
            conversion_efficiency=conversion_efficiency,
            problems=source.problems,
        )


def describe_no_readings(source: LogSource, name: str) -> str:
    """Why a log has no readings: its first problems, if there are any."""
    reasons = [f"line {p.line}: {p.found}" for p in source.problems.list_all()[:3] if p.line]
    detail = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{source.path}: no line is a whole reading of the format {name}{detail}"


def _describe_layout(layout: Layout) -> str:
    return ", ".join(f"{feed} {quantity}" for feed, quantity in layout)
