"""CSV logs of any logger, read by a map that declares columns, units and time zone."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from harness.power_logs.builder import LogBuilder, LogSource
from harness.power_logs.csv_map import EXAMPLE, CsvMap, TimeColumn
from harness.power_logs.local_time import LocalClock, LocalTimeError, check_ns, count_ns
from harness.power_logs.records import Layout, LogReading, PowerLog, PowerLogError

NAME = "csv"
_NO_VALUES = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null"})
_DIGITS_NS = 19
"""Digits of the ns since 1970."""


@dataclass(frozen=True)
class _Row:
    """How a row of the log is read."""

    width: int
    time: int
    """Index of the column."""
    values: tuple[tuple[int, float], ...]
    """Index and factor of each column of values."""
    layout: Layout


def recognise(line: str) -> bool:
    """Never: a CSV log is read only with a map, because its columns do not say what they are."""
    return False


def parse(source: LogSource) -> PowerLog:
    """Read a log. Raises PowerLogError if it has no readings, if it does not have the columns of
    the map, or if its times have no time zone."""
    csv_map = source.csv_map
    if csv_map is None:
        raise PowerLogError(
            f"{source.path}: a CSV log needs --map MAP.toml, which declares its columns, such as\n"
            f"{EXAMPLE}"
        )
    builder = LogBuilder(source)
    parse_time = _make_time_parser(source, csv_map)
    row: _Row | None = None
    header: list[str] = []
    for number, line in source.lines:
        if not line.strip() or (csv_map.comment and line.startswith(csv_map.comment)):
            continue
        cells = _split(line, csv_map.delimiter)
        if row is None:
            header = cells
            row = _find_columns(source, csv_map, number, cells)
            if csv_map.header:
                continue
        elif csv_map.header and cells == header:
            continue  # the logger was started again
        try:
            builder.add(_parse_row(number, cells, row, parse_time, csv_map.decimal))
        except LocalTimeError as error:
            source.add_time_problem(number, error)
        except ValueError as error:
            source.add_torn(number, str(error))
    zone = csv_map.time.zone or source.zone
    return builder.build(NAME, "UTC" if zone is None else str(zone), csv_map.interval_means)


def _split(line: str, delimiter: str) -> list[str]:
    """The cells of a line. Each line is split alone, so that a torn quote does not swallow the
    lines after it."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return []
    return [cell.strip() for cell in cells]


def _find_columns(source: LogSource, csv_map: CsvMap, number: int, cells: list[str]) -> _Row:
    """Find the columns of the map in the first line. Raises PowerLogError."""

    def find(key: str, column: str | int) -> int:
        if isinstance(column, int):
            if column > len(cells):
                raise PowerLogError(
                    f"{csv_map.path}: {key}.column: found {column}, but line {number} of "
                    f"{source.path} has {len(cells)} columns"
                )
            return column - 1
        if cells.count(column) != 1:
            how_often = "no column" if column not in cells else "several columns"
            raise PowerLogError(
                f"{csv_map.path}: {key}.column: {how_often} {column!r} in line {number} of "
                f"{source.path}, which has {', '.join(map(repr, cells[:20])) or 'none'}"
            )
        return cells.index(column)

    return _Row(
        width=len(cells),
        time=find("time", csv_map.time.column),
        values=tuple((find(value.table, value.column), value.factor) for value in csv_map.values),
        layout=tuple((csv_map.feed, value.quantity) for value in csv_map.values),
    )


def _parse_row(
    number: int, cells: list[str], row: _Row, parse_time: Callable[[str], int], decimal: str
) -> LogReading:
    """The reading in a row. Raises ValueError, which says what is wrong."""
    if len(cells) != row.width:
        raise ValueError(f"{len(cells)} cells instead of {row.width}")
    values = tuple(
        _parse_number(cells[index].replace(decimal, ".")) * factor for index, factor in row.values
    )
    return LogReading(number, parse_time(cells[row.time]), row.layout, values)


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        if text.lower() in _NO_VALUES:
            return math.nan
        raise ValueError(f"{text[:40]!r}, which is no number") from None


def _make_time_parser(source: LogSource, csv_map: CsvMap) -> Callable[[str], int]:
    """The function that reads a time of the log in ns since 1970. It raises ValueError, and
    PowerLogError for a local time without a declared zone."""
    time = csv_map.time
    if time.format == "unix":
        return _make_unix_parser(time)
    zone = time.zone or source.zone
    if time.zone is not None and source.zone is not None:
        raise PowerLogError(
            f"{csv_map.path}: time.zone: the map and --time-zone both declare a zone; leave out one"
        )
    clock = LocalClock(zone)

    def parse_time(text: str) -> int:
        try:
            moment = (
                datetime.fromisoformat(text)
                if time.format == "iso"
                else datetime.strptime(text, time.format)
            )
        except ValueError:
            raise ValueError(f"the time {text[:40]!r}, not of the format {time.format}") from None
        if moment.tzinfo is not None:
            return count_ns(moment)
        if zone is None:
            raise PowerLogError(
                f"{source.path}: the time {text[:40]!r} has no time zone; declare it with "
                f"time.zone in {csv_map.path}, or with --time-zone"
            )
        return clock.to_ns(moment)

    return parse_time


def _make_unix_parser(time: TimeColumn) -> Callable[[str], int]:
    def parse_time(text: str) -> int:
        whole, _, fraction = text.partition(".")
        if not (whole.isdecimal() and (fraction.isdecimal() or not fraction)):
            raise ValueError(f"the time {text[:40]!r}, not a number since 1970")
        # In whole numbers, because a double does not hold ns since 1970.
        fraction_ns = int(fraction[:9].ljust(9, "0") or 0) * time.unit_ns // 10**9
        time_ns = int(whole[:_DIGITS_NS]) * time.unit_ns + fraction_ns
        return check_ns(time_ns)

    return parse_time
