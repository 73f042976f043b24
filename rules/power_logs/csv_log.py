"""Tables of any logger: CSV or aligned by blanks, read by a map that declares columns, units, feeds
and time zone."""

import csv
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from rules.power_logs.builder import LogBuilder, LogSource, describe_no_readings
from rules.power_logs.cells import find_unit, parse_number, split_header
from rules.power_logs.csv_map import EXAMPLE, Column, CsvMap, ValueColumns
from rules.power_logs.grouping import (
    MAX_ROWS_AGAIN,
    RowSample,
    count_rows_per_tick,
    exceeds_share,
    find_cycling_column,
    find_longest_rising,
    find_separating_column,
)
from rules.power_logs.integrals import derive_power
from rules.power_logs.local_time import LocalTimeError
from rules.power_logs.records import (
    ENERGY,
    Layout,
    LogReading,
    PowerLog,
    PowerLogError,
    Problems,
)
from rules.power_logs.row_times import RowTimes, make_row_times

NAME = "csv"
_DIGITS = re.compile(r"\d+")
_HINT = (
    "check delimiter, decimal, time.format and units of the map; a date and a time in two columns "
    'are column = ["Date", "Time"]'
)
_PREAMBLE_LINES = 200
"""So many lines may stand before the header."""


@dataclass(frozen=True)
class _Row:
    """How a row of the log is read."""

    header: tuple[str, ...]
    """The cells of the header, or of the first row."""
    time: tuple[int, ...]
    """Indices of the columns."""
    key: tuple[int, ...]
    values: tuple[tuple[int, str, float | None], ...]
    """Index, table of the map and factor of each column of values."""
    layout: Layout
    """With the feeds of a row without key."""

    @property
    def unused(self) -> list[int]:
        """The columns that the map does not name."""
        used = {*self.time, *self.key, *(index for index, _, _ in self.values)}
        return [index for index in range(len(self.header)) if index not in used]


def parse(source: LogSource) -> PowerLog:
    """Read a log. Raises PowerLogError if it has no readings, if it does not have the columns of
    the map, or if its rows are of several feeds that the map does not declare."""
    if source.csv_map is None:
        raise PowerLogError(
            f"{source.path}: a CSV log needs --map MAP.toml, which declares its columns, such as\n"
            f"{EXAMPLE}"
        )
    return _TableReader(source, source.csv_map).read()


class _TableReader:
    def __init__(self, source: LogSource, csv_map: CsvMap) -> None:
        self._source, self._map = source, csv_map
        self._builder = LogBuilder(source)
        self._sample = RowSample()
        self._counts: dict[str, int] = {}
        """Rows of each series so far."""
        self._skipped: dict[str, int] = {}
        """Rows of each feed that the map does not name."""
        self._has_row = False
        """Whether the header was found."""
        self._times: RowTimes | None = None
        if csv_map.time is not None:
            self._times = make_row_times(source, csv_map)
        elif source.every_ns is None:
            raise PowerLogError(
                f"{source.path}: a log of the format {source.name or NAME}, whose rows have no "
                "times; state how many seconds are between two rows of a feed with --every"
            )

    def read(self) -> PowerLog:
        rows = self._split_lines()
        row = self._find_row(rows)
        is_first = True
        for number, cells in rows:
            if self._map.header and cells == list(row.header):
                is_first = True  # the logger was started again
                continue
            if is_first:
                is_first = False
                if units := self._read_units(cells, row):
                    row = units
                    continue
            self._add_row(number, cells, row)
        log = self._build()
        self._refuse_undeclared_feeds(log, row)
        self._report_unused(row)
        return log

    def _split_lines(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of each line. While the header is sought, those of comments too."""
        csv_map = self._map
        for number, line in self._source.lines:
            if number <= csv_map.skip or not line.strip():
                continue
            if csv_map.comment and line.lstrip().startswith(csv_map.comment):
                if self._has_row or not csv_map.header:
                    continue
                yield (
                    number,
                    split_line(line.lstrip().removeprefix(csv_map.comment), csv_map.delimiter),
                )
            else:
                yield number, split_line(line, csv_map.delimiter)

    def _find_row(self, rows: Iterator[tuple[int, list[str]]]) -> _Row:
        """Find the columns of the map. Raises PowerLogError if no line has them."""
        candidates: list[tuple[int, int, list[str]]] = []
        names = self._list_columns()
        for number, cells in rows:
            indices = _index_names(cells)
            found = sum(_find_cell(indices, cells, name) is not None for _, name in names)
            if found == len(names) or not self._map.header:
                self._has_row = True
                row = self._locate(number, cells)
                if not self._map.header:
                    self._add_row(number, cells, row)
                return row
            candidates.append((found, number, cells))
            if len(candidates) > _PREAMBLE_LINES:
                break
        if not candidates:
            raise PowerLogError(describe_no_readings(self._source, self._source.name or NAME))
        _, number, cells = max(candidates, key=lambda entry: (entry[0], -entry[1]))
        return self._locate(number, cells)

    def _list_columns(self) -> list[tuple[str, Column]]:
        csv_map = self._map
        named = [] if csv_map.time is None else [("time", c) for c in csv_map.time.columns]
        named += [("key", c) for c in (csv_map.key.columns if csv_map.key else ())]
        return named + [(v.table, c) for v in csv_map.values for c in v.columns]

    def _locate(self, number: int, cells: list[str]) -> _Row:
        indices = _index_names(cells)

        def find(key: str, column: Column) -> int:
            index = _find_cell(indices, cells, column)
            if index is not None:
                return index
            if isinstance(column, int):
                raise PowerLogError(
                    f"{self._map.path}: {key}.column: found {column}, but line {number} of "
                    f"{self._source.path} has {len(cells)} columns"
                )
            place = f"in line {number} of {self._source.path}"
            numbers = [
                index
                for index, cell in enumerate(cells, 1)
                if column in (cell, split_header(cell)[0])
            ]
            if numbers:
                raise PowerLogError(
                    f"{self._map.path}: {key}.column: several columns {column!r} {place}; write "
                    f"the number of one: {' or '.join(map(str, numbers))}"
                )
            raise PowerLogError(
                f"{self._map.path}: {key}.column: no column {column!r} {place}, which has "
                f"{', '.join(map(repr, cells[:20])) or 'none'}"
            )

        csv_map = self._map
        values, layout = [], []
        for value in csv_map.values:
            for feed, column in zip(csv_map.feeds, value.columns, strict=True):
                index = find(value.table, column)
                values.append((index, value.table, self._find_factor(value, cells[index])))
                layout.append((feed, value.quantity))
        return _Row(
            header=tuple(cells),
            time=tuple(find("time", c) for c in csv_map.time.columns) if csv_map.time else (),
            key=tuple(find("key", c) for c in csv_map.key.columns) if csv_map.key else (),
            values=tuple(values),
            layout=tuple(layout),
        )

    def _find_factor(self, value: ValueColumns, header: str) -> float | None:
        """The factor of a column, by the map or by its header. Raises PowerLogError."""
        _, unit = split_header(header) if self._map.header else ("", "")
        factor = find_unit(value.table, unit) if unit else None
        if None not in (factor, value.factor) and factor != value.factor:
            raise PowerLogError(
                f"{self._map.path}: {value.table}.unit: the header of {self._source.path} says "
                f"{header!r}; write unit = {unit!r}, or leave the unit out"
            )
        return factor if value.factor is None else value.factor

    def _read_units(self, cells: list[str], row: _Row) -> _Row | None:
        """The row with the units that stand below the header; None if these cells are a reading."""
        if not self._map.header or len(cells) != len(row.header):
            return None
        units = [find_unit(table, cells[index].strip("[]()")) for index, table, _ in row.values]
        if units[0] is None:
            return None
        values = tuple(
            (index, table, unit if factor is None else factor)
            for (index, table, factor), unit in zip(row.values, units, strict=True)
        )
        return dataclasses.replace(row, values=values)

    def _add_row(self, number: int, cells: list[str], row: _Row) -> None:
        try:
            reading = self._parse_row(number, cells, row)
        except LocalTimeError as error:
            self._source.add_time_problem(number, error)
        except ValueError as error:
            if self._read_units(cells, row) is None:
                self._source.add_torn(number, str(error))
        else:
            if reading is not None:
                self._builder.add(reading)

    def _parse_row(self, number: int, cells: list[str], row: _Row) -> LogReading | None:
        """The reading in a row; None if the map leaves out its feed. Raises ValueError, which says
        what is wrong."""
        if len(cells) != len(row.header):
            raise ValueError(f"{len(cells)} cells instead of {len(row.header)}")
        series, layout = "", row.layout
        if self._map.key is not None:
            series = "/".join(cells[index] for index in row.key)
            if self._map.key.values is not None and series not in self._map.key.values:
                self._skipped[series] = self._skipped.get(series, 0) + 1
                return None
            several = len(self._map.feeds) > 1
            layout = tuple(
                (f"{series}/{feed}" if several else series, quantity) for feed, quantity in layout
            )
        decimal = self._map.decimal
        values = tuple(
            parse_number(cells[index], decimal, table, factor)
            for index, table, factor in row.values
        )
        count = self._counts.get(series, 0)
        if self._times is None:
            time_ns = self._source.place(count)
        else:
            time_ns = self._times.parse(" ".join(cells[index] for index in row.time))
        self._counts[series] = count + 1
        if self._map.key is None or series == next(iter(self._counts)):
            self._sample.add(time_ns, cells)
        return LogReading(number, time_ns, layout, values, series)

    def _build(self) -> PowerLog:
        key = self._map.key
        if key is not None and key.values is not None:
            missing = [value for value in key.values if value not in self._counts]
            if missing:
                found = ", ".join([*self._counts, *self._skipped][:20]) or "none"
                raise PowerLogError(
                    f"{self._map.path}: key.values: no row of {missing[0]!r}; the rows are of "
                    f"{found}"
                )
        if not self._counts and self._source.torn:
            reason = describe_no_readings(self._source, self._source.name or NAME)
            raise PowerLogError(f"{reason}; {_HINT}")
        times = self._times
        is_local = times is not None and times.is_local
        elapsed = self._source.start_ns is None if times is None else times.elapsed
        zone: tzinfo | None = UTC
        if is_local:
            zone = (self._map.time and self._map.time.zone) or self._source.zone
        log = self._builder.build(
            self._source.name or NAME,
            None if elapsed or zone is None else str(zone),
            self._map.interval,
            elapsed=elapsed,
            from_start=times is None or times.from_start,
            has_local_times=is_local,
            adds=self._map.adds,
        )
        if self._map.values[0].quantity == ENERGY:
            return derive_power(log, self._map.values[0].of_interval)
        return log

    def _refuse_undeclared_feeds(self, log: PowerLog, row: _Row) -> None:
        """Raise PowerLogError if the rows are of several feeds that the map does not declare."""
        twins = self._list_twins(row)
        unused = [index for index in row.unused if index not in twins]
        if found := find_cycling_column(self._sample, row.header, unused):
            raise self._refuse_column(row, *found, "in turn")
        if self._map.key is not None or self._times is None:
            return
        times_ns = log.series[0].times_ns
        size = 1 if self._map.declares_feeds else count_rows_per_tick(self._sample.times_ns)
        left_out = len(times_ns) - len(find_longest_rising(times_ns))
        if (size > 1 or exceeds_share(left_out, times_ns)) and (
            found := find_separating_column(self._sample_more(), unused)
        ):
            raise self._refuse_column(row, *found, "with times of their own")
        if size > 1:
            raise PowerLogError(
                f"{self._source.path}: the rows come in groups of {size}, which follow each other "
                "at once; if they are of several feeds, declare the column that names the feed as "
                '[key] in the map; if all are of one feed, declare feed = "NAME" in the map'
            )

    def _list_twins(self, row: _Row) -> list[int]:
        """Columns that are named like those of the power, such as `gpu:1` beside `gpu:0`."""
        if not self._map.header:
            return []
        powers = {row.header[index] for index, table, _ in row.values if table == "power"}
        shapes = {_DIGITS.sub("#", name) for name in powers if _DIGITS.search(name)}
        return [i for i in row.unused if _DIGITS.sub("#", row.header[i]) in shapes]

    def _report_unused(self, row: _Row) -> None:
        names = [row.header[index] for index in self._list_twins(row)]
        if names:
            self._source.problems.add(
                "unused-columns",
                0,
                f"{', '.join(map(repr, names))} may be further feeds",
                "if they are, declare all of them as columns of the power in the map",
            )

    def _sample_more(self) -> RowSample:
        """The rows of the whole log, read once more."""
        with self._source.reopen() as lines:
            source = dataclasses.replace(self._source, lines=lines, problems=Problems())
            reader = _TableReader(source, self._map)
            reader._sample = RowSample(MAX_ROWS_AGAIN)
            rows = reader._split_lines()
            row = reader._find_row(rows)
            for number, cells in rows:
                reader._add_row(number, cells, row)
        return reader._sample

    def _refuse_column(self, row: _Row, index: int, values: list[str], how: str) -> PowerLogError:
        listed = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
        if self._map.header and row.header[index]:
            name, column = f"column {row.header[index]!r}", f'"{row.header[index]}"'
        else:
            name, column = f"column {index + 1}", str(index + 1)
        return PowerLogError(
            f"{self._source.path}: the {name} has the values {listed} {how}, so the rows are of "
            f"several feeds; declare it in the map with [key] column = {column}"
        )


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of a line. Each line is split alone, so that a torn quote does not swallow the
    lines after it."""
    if '"' not in line:
        # Aligned columns have runs of blanks, tabs among them.
        parts = line.split() if delimiter == " " else line.split(delimiter)
        return [cell.strip() for cell in parts]
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        return []
    return [cell.strip() for cell in cells]


def _index_names(cells: Sequence[str]) -> dict[str, int]:
    """The index of each cell of a header by its name, which may leave out the unit in brackets.
    Names of several cells are left out."""
    indices: dict[str, int] = {}
    for names in ([split_header(cell)[0] for cell in cells], cells):
        counts = Counter(names)
        indices |= {name: index for index, name in enumerate(names) if counts[name] == 1}
    return indices


def _find_cell(indices: Mapping[str, int], cells: Sequence[str], column: Column) -> int | None:
    """The index of a column in a header; None if it has no such column, or several."""
    if isinstance(column, int):
        return column - 1 if column <= len(cells) else None
    return indices.get(column)
