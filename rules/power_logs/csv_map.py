"""MAP.toml: what the columns of a table mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from rules.power_logs.local_time import find_zone
from rules.power_logs.records import (
    CURRENT,
    ENERGY,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    Interval,
    PowerLogError,
)

UNITS: Mapping[str, Mapping[str, float]] = {
    "power": {"W": 1.0, "kW": 1e3, "mW": 1e-3, "MW": 1e6, "uW": 1e-6, "µW": 1e-6},
    "voltage": {"V": 1.0, "kV": 1e3, "mV": 1e-3},
    "current": {"A": 1.0, "mA": 1e-3},
    "pf": {"1": 1.0, "%": 0.01},
    "energy": {
        "J": 1.0,
        "kJ": 1e3,
        "MJ": 1e6,
        "mJ": 1e-3,
        "uJ": 1e-6,
        "µJ": 1e-6,
        "Wh": 3600.0,
        "kWh": 3.6e6,
    },
}
_QUANTITIES = {
    "power": POWER,
    "voltage": VOLTAGE,
    "current": CURRENT,
    "pf": POWER_FACTOR,
    "energy": ENERGY,
}
_TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_INTERVALS = {interval.value: interval for interval in Interval}
_DELIMITERS = {",": ",", ";": ";", "\t": "\t", "|": "|", " ": " "}
_KEYS = frozenset(
    {"delimiter", "comment", "decimal", "header", "skip", "interval", "feed", "add", "time", "key"}
)
_TIME_KEYS = frozenset({"column", "format", "unit", "zone"})
EXAMPLE = """\
interval = "mean-before"    # or "instant", "until-next"
[time]
column = "time"             # or ["date", "time"]
format = "iso"              # or "%d.%m.%Y %H:%M:%S", or "unix" with unit = "s", "ms", "us" or "ns"
zone = "Europe/Berlin"      # of local times without an offset
[power]
column = "power"            # or columns = ["gpu0", "gpu1"], one for each feed
unit = "W"                  # or "kW", "mW", "uW"
[key]
column = "outlet"           # only if the rows are of several feeds: the column that names the feed
"""

Column = str | int
"""Name in the header, or number from 1 in a file without header."""


@dataclass(frozen=True)
class TimeColumn:
    """Where the time of a row is."""

    columns: tuple[Column, ...]
    """The cells are joined by a blank."""
    format: str
    """`iso`, `unix`, or a format of `datetime.strptime`."""
    unit_ns: int
    """With `unix`: the unit in ns."""
    zone: tzinfo | None
    """None if the map declares none."""

    @property
    def has_date(self) -> bool:
        """Whether a time is one of a certain day."""
        return self.format in ("iso", "unix") or _keeps(self.format, _MOMENT)


@dataclass(frozen=True)
class KeyColumn:
    """Which feed a row belongs to."""

    columns: tuple[Column, ...]
    """The cells are joined by `/`."""
    values: tuple[str, ...] | None
    """The only feeds that are read; None for all."""


@dataclass(frozen=True)
class ValueColumns:
    """The columns of one quantity."""

    table: str
    """The table of the map, such as `power`."""
    columns: tuple[Column, ...]
    """One for each feed."""
    quantity: str
    factor: float | None
    """To the unit of the quantity; None if the header or the cells state the unit."""
    of_interval: bool = False
    """Whether an energy is that since the reading before, and no counter."""


@dataclass(frozen=True)
class CsvMap:
    """The meaning of a table."""

    path: Path
    delimiter: str
    """A blank stands for any run of blanks."""
    comment: str
    """Lines that begin with this text are left out; an empty text leaves out none."""
    decimal: str
    header: bool
    skip: int
    """How many lines before the header, or before the rows, are left out."""
    interval: Interval
    feeds: tuple[str, ...]
    """The names of the feeds in a row."""
    declares_feeds: bool
    """Whether the map itself says which feeds a row has."""
    adds: bool
    """Whether the powers of the feeds add up."""
    time: TimeColumn | None
    """None if the rows have no times."""
    key: KeyColumn | None
    values: tuple[ValueColumns, ...]
    """The power first, or the energy where there is no power."""


def read_map(path: Path, document: dict[str, Any]) -> CsvMap:
    """The map of the document that a user wrote. Raises PowerLogError as `build_map` does."""
    if "time" not in document:
        raise PowerLogError(f"{path}: time: found nothing, expected a table [time]")
    return build_map(path, document)


def build_map(path: Path, document: dict[str, Any]) -> CsvMap:
    """The map of a document. Raises PowerLogError, which names `path`, the key and what is
    allowed."""
    return _MapReader(path, document).read()


_MOST_OF_FORMAT = 100
_MOMENT = datetime(2026, 3, 14, 15, 9, 26)


def _keeps(time_format: str, moment: datetime) -> bool:
    try:
        parsed = datetime.strptime(f"{moment:{time_format}}", time_format)
    except (ValueError, re.error):  # the latter for a directive that occurs twice
        return False
    return parsed.replace(tzinfo=None) == moment


class _MapReader:
    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self._path, self._document = path, document

    def read(self) -> CsvMap:
        document = self._document
        self._refuse_unknown("", document, _KEYS | UNITS.keys())
        header = self._read_flag("header", True)
        skip = document.get("skip", 0)
        if not isinstance(skip, int) or isinstance(skip, bool) or skip < 0:
            raise self._refuse("skip", skip, "the number of lines before the table")
        delimiter = self._choose("", "delimiter", ",", _DELIMITERS)
        decimal = self._choose("", "decimal", ".", {".": ".", ",": ","})
        if decimal == delimiter:
            raise self._refuse("decimal", decimal, "another character than the delimiter")
        if "power" not in document and "energy" not in document:
            raise self._refuse("power", None, "a table [power]")
        values = [self._read_values(name, header) for name in UNITS if name in document]
        count = len(values[0].columns)
        for value in values:
            if len(value.columns) != count:
                raise self._refuse(
                    f"{value.table}.columns",
                    list(value.columns),
                    f"{count} columns, as {values[0].table} has",
                )
        feed = self._read_text("", "feed", "total")
        if count > 1 and "feed" in document:
            raise self._refuse("feed", feed, "no feed, because columns name the feeds")
        return CsvMap(
            path=self._path,
            delimiter=delimiter,
            comment=self._read_text("", "comment", "#", may_be_empty=True),
            decimal=decimal,
            header=header,
            skip=skip,
            interval=self._choose("", "interval", None, _INTERVALS),
            feeds=tuple(map(str, values[0].columns)) if count > 1 else (feed,),
            declares_feeds=count > 1 or "feed" in document,
            adds=self._read_flag("add", True),
            time=self._read_time(header) if "time" in document else None,
            key=self._read_key(header) if "key" in document else None,
            values=tuple(values),
        )

    def _read_time(self, header: bool) -> TimeColumn:
        table = self._get_table("time")
        self._refuse_unknown("time", table, _TIME_KEYS)
        time_format = self._read_text("time", "format", None)
        if len(time_format) > _MOST_OF_FORMAT:
            raise self._refuse("time.format", time_format[:40], "a format of a time")
        if time_format not in ("iso", "unix"):
            self._check_format(time_format)
        unit_ns = 1
        if time_format == "unix":
            unit_ns = self._choose("time", "unit", None, _TIME_UNITS)
        elif "unit" in table:
            raise self._refuse("time.unit", table["unit"], 'no unit, except with format = "unix"')
        zone = None
        if "zone" in table:
            text = self._read_text("time", "zone", None)
            try:
                zone = find_zone(text)
            except ValueError as error:
                raise PowerLogError(f"{self._path}: time.zone: {error}") from None
        return TimeColumn(self._read_columns("time", header), time_format, unit_ns, zone)

    def _check_format(self, time_format: str) -> None:
        # Times of day alone are read as elapsed times. Dates alone, or two digits of the hour
        # without AM and PM, place no reading.
        time_of_day = datetime(1900, 1, 1, _MOMENT.hour, _MOMENT.minute, _MOMENT.second)
        if not (_keeps(time_format, _MOMENT) or _keeps(time_format, time_of_day)):
            raise self._refuse(
                "time.format",
                time_format,
                '"iso", "unix", or a format with date and time such as "%d.%m.%Y %H:%M:%S"; if '
                'they are two columns, write column = ["Date", "Time"]',
            )

    def _read_key(self, header: bool) -> KeyColumn:
        self._refuse_unknown("key", self._get_table("key"), frozenset({"column", "values"}))
        values = self._get_table("key").get("values")
        if values is not None and not (
            isinstance(values, list) and values and all(isinstance(value, str) for value in values)
        ):
            raise self._refuse("key.values", values, 'a list of texts, such as ["node1"]')
        columns = self._read_columns("key", header)
        return KeyColumn(columns, None if values is None else tuple(values))

    def _read_values(self, name: str, header: bool) -> ValueColumns:
        table = self._get_table(name)
        known = {"column", "columns", "unit"} | ({"each"} if name == "energy" else set())
        self._refuse_unknown(name, table, frozenset(known))
        default = "1" if name == "pf" else None
        # The unit of a power may stand in the header or in each cell.
        factor = None
        if default or "unit" in table:
            factor = self._choose(name, "unit", default, UNITS[name])
        each = table.get("each", "total")
        if each not in ("total", "interval"):
            raise self._refuse(f"{name}.each", each, 'one of "total", "interval"')
        if "columns" in table:
            columns = self._read_columns(name, header, "columns")
        else:
            columns = self._read_columns(name, header)
            if len(columns) > 1:
                raise self._refuse(
                    f"{name}.column",
                    table["column"],
                    'one column; several are columns = ["a", "b"]',
                )
        return ValueColumns(name, columns, _QUANTITIES[name], factor, each == "interval")

    def _read_columns(self, name: str, header: bool, key: str = "column") -> tuple[Column, ...]:
        found = self._get_table(name).get(key)
        columns = found if isinstance(found, list) and found else [found]
        for column in columns:
            is_name = isinstance(column, str) and column
            is_number = isinstance(column, int) and not isinstance(column, bool) and column > 0
            # Two columns of a header may have one name.
            if not (is_number or (is_name and header)):
                expected = (
                    "the name of a column, or its number from 1"
                    if header
                    else "the number of a column from 1, because header is false"
                )
                raise self._refuse(f"{name}.{key}", column, expected)
        if len(set(columns)) < len(columns):
            raise self._refuse(f"{name}.{key}", found, "each column once")
        return tuple(columns)

    def _get_table(self, name: str) -> dict[str, Any]:
        table = self._document[name]
        if not isinstance(table, dict):
            raise self._refuse(name, table, f"a table [{name}]")
        return table

    def _read_flag(self, key: str, default: bool) -> bool:
        value = self._document.get(key, default)
        if not isinstance(value, bool):
            raise self._refuse(key, value, "true or false")
        return value

    def _read_text(
        self, table: str, key: str, default: str | None, may_be_empty: bool = False
    ) -> str:
        value = (self._get_table(table) if table else self._document).get(key, default)
        if not isinstance(value, str) or not (value or may_be_empty):
            raise self._refuse(f"{table}.{key}".lstrip("."), value, "a text")
        return value

    def _choose(self, table: str, key: str, default: str | None, choices: Mapping[str, Any]) -> Any:
        value = (self._get_table(table) if table else self._document).get(key, default)
        if not isinstance(value, str) or value not in choices:
            listed = ", ".join(map(repr, choices))
            raise self._refuse(f"{table}.{key}".lstrip("."), value, f"one of {listed}")
        return choices[value]

    def _refuse_unknown(self, table: str, keys: Mapping[str, Any], known: frozenset[str]) -> None:
        for key in keys:
            if key not in known:
                raise self._refuse(
                    f"{table}.{key}".lstrip("."),
                    keys[key],
                    f"one of the keys {', '.join(sorted(known))}",
                )

    def _refuse(self, key: str, value: object, expected: str) -> PowerLogError:
        found = "nothing" if value is None else repr(value)
        return PowerLogError(f"{self._path}: {key}: found {found}, expected {expected}")
