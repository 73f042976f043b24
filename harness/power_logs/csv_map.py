"""MAP.toml: what the columns of a CSV log mean."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from checker.command_line.toml_text import parse_toml
from harness.power_logs.local_time import find_zone
from harness.power_logs.records import (
    CURRENT,
    ENERGY,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    PowerLogError,
)

_UNITS: Mapping[str, Mapping[str, float]] = {
    "power": {"W": 1.0, "kW": 1e3, "mW": 1e-3, "MW": 1e6},
    "voltage": {"V": 1.0, "kV": 1e3, "mV": 1e-3},
    "current": {"A": 1.0, "mA": 1e-3},
    "pf": {"1": 1.0, "%": 0.01},
    "energy": {"J": 1.0, "kJ": 1e3, "mJ": 1e-3, "Wh": 3600.0, "kWh": 3.6e6},
}
_QUANTITIES = {
    "power": POWER,
    "voltage": VOLTAGE,
    "current": CURRENT,
    "pf": POWER_FACTOR,
    "energy": ENERGY,
}
_TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_INTERVALS = {"instant": False, "mean-before": True}
_DELIMITERS = {",": ",", ";": ";", "\t": "\t", "|": "|", " ": " "}
_KEYS = frozenset({"delimiter", "comment", "decimal", "header", "interval", "feed", "time"})
_TIME_KEYS = frozenset({"column", "format", "unit", "zone"})
EXAMPLE = """\
interval = "mean-before"    # or "instant"
[time]
column = "time"
format = "iso"              # or "%d.%m.%Y %H:%M:%S", or "unix" with unit = "s", "ms", "us" or "ns"
zone = "Europe/Berlin"      # of local times without an offset
[power]
column = "power"
unit = "W"                  # or "kW", "mW"
"""


@dataclass(frozen=True)
class TimeColumn:
    """The column of times."""

    column: str | int
    format: str
    """`iso`, `unix`, or a format of `datetime.strptime`."""
    unit_ns: int
    """With `unix`: the unit in ns."""
    zone: tzinfo | None
    """None if the map declares none."""

    @property
    def has_offset(self) -> bool:
        """Whether the format itself says which instant a time is."""
        return self.format == "unix" or "%z" in self.format


@dataclass(frozen=True)
class ValueColumn:
    """A column of values."""

    table: str
    """The table of the map, such as `power`."""
    column: str | int
    """Name in the header, or number from 1 in a file without header."""
    quantity: str
    factor: float
    """To the unit of the quantity."""


@dataclass(frozen=True)
class CsvMap:
    """The meaning of a CSV log."""

    path: Path
    delimiter: str
    comment: str
    """Lines that begin with this text are left out; an empty text leaves out none."""
    decimal: str
    header: bool
    interval_means: bool
    feed: str
    time: TimeColumn
    values: tuple[ValueColumn, ...]
    """The power first."""


def read_map(path: Path) -> CsvMap:
    """Read a map. Raises PowerLogError, which names the file, the key and what is allowed."""
    try:
        document = parse_toml(path.read_bytes())
    except OSError as error:
        raise PowerLogError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PowerLogError(f"{path}: no valid TOML ({error})") from None
    return _MapReader(path, document).read()


class _MapReader:
    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self._path, self._document = path, document

    def read(self) -> CsvMap:
        document = self._document
        self._refuse_unknown("", document, _KEYS | _UNITS.keys())
        header = document.get("header", True)
        if not isinstance(header, bool):
            raise self._refuse("header", header, "true or false")
        delimiter = self._choose("", "delimiter", ",", _DELIMITERS)
        decimal = self._choose("", "decimal", ".", {".": ".", ",": ","})
        if decimal == delimiter:
            raise self._refuse("decimal", decimal, "another character than the delimiter")
        for name in ("time", "power"):
            if name not in document:
                raise self._refuse(name, None, f"a table [{name}]")
        values = [self._read_value(name, header) for name in _UNITS if name in document]
        return CsvMap(
            path=self._path,
            delimiter=delimiter,
            comment=self._read_text("", "comment", "#", may_be_empty=True),
            decimal=decimal,
            header=header,
            interval_means=self._choose("", "interval", None, _INTERVALS),
            feed=self._read_text("", "feed", "total"),
            time=self._read_time(header),
            values=tuple(values),
        )

    def _read_time(self, header: bool) -> TimeColumn:
        table = self._get_table("time")
        self._refuse_unknown("time", table, _TIME_KEYS)
        time_format = self._read_text("time", "format", None)
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
        return TimeColumn(self._read_column("time", header), time_format, unit_ns, zone)

    def _check_format(self, time_format: str) -> None:
        moment = datetime(2026, 3, 14, 15, 9, 26)
        try:
            parsed = datetime.strptime(f"{moment:{time_format}}", time_format)
        except ValueError:
            parsed = None
        # Without the day or with two digits of the hour alone, times of a log are not instants.
        if parsed is None or parsed.replace(tzinfo=None) != moment:
            raise self._refuse(
                "time.format",
                time_format,
                '"iso", "unix", or a format with date and time such as "%d.%m.%Y %H:%M:%S"',
            )

    def _read_value(self, name: str, header: bool) -> ValueColumn:
        self._refuse_unknown(name, self._get_table(name), frozenset({"column", "unit"}))
        default = "1" if name == "pf" else None
        factor = self._choose(name, "unit", default, _UNITS[name])
        return ValueColumn(name, self._read_column(name, header), _QUANTITIES[name], factor)

    def _read_column(self, name: str, header: bool) -> str | int:
        column = self._get_table(name).get("column")
        if header and isinstance(column, str) and column:
            return column
        if not header and isinstance(column, int) and not isinstance(column, bool) and column > 0:
            return column
        expected = (
            "the name of a column"
            if header
            else "the number of a column from 1, because header is false"
        )
        raise self._refuse(f"{name}.column", column, expected)

    def _get_table(self, name: str) -> dict[str, Any]:
        table = self._document[name]
        if not isinstance(table, dict):
            raise self._refuse(name, table, f"a table [{name}]")
        return table

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
