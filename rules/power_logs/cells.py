"""Numbers in the cells of a table: decimal separators, units, and marks for no value."""

import math
import re
from collections.abc import Mapping
from contextlib import suppress

from rules.power_logs.csv_map import UNITS

_NO_VALUES = frozenset(
    {
        "",
        "-",
        "--",
        "n/a",
        "na",
        "nan",
        "none",
        "null",
        "no reading",
        "not supported",
        "not available",
        "unknown error",
        "err",
        "error",
    }
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d+"),
    ",": re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"),
}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "power": {"Watts": "W", "Watt": "W", "watts": "W", "watt": "W", "w": "W", "kw": "kW"},
    "energy": {"Joules": "J", "Joule": "J", "joules": "J", "j": "J"},
    "voltage": {"Volts": "V", "volts": "V"},
    "current": {"Amps": "A", "amps": "A"},
}
_MOST_OF_HEADER = 500
_HEADER = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\))")


def parse_number(text: str, decimal: str, table: str, factor: float | None) -> float:
    """The number in a cell of a quantity such as `power`, in the unit of the quantity; NaN for a
    mark of no value. A unit in the cell goes before `factor`. Raises ValueError."""
    if decimal == "." and factor is not None:
        with suppress(ValueError):
            return float(text) * factor
    plain = text
    if _GROUPED[decimal].match(text):
        plain = text.replace("," if decimal == "." else ".", "")
    if decimal == ",":
        plain = plain.replace(",", ".")
    match = _NUMBER.match(plain)
    if match is None:
        if text.strip("[]()!").strip().lower() in _NO_VALUES:
            return math.nan
        raise ValueError(f"{text[:40]!r}, which is no number")
    rest = plain[match.end() :].strip()
    if rest:
        unit = find_unit(table, rest)
        if unit is None:
            raise ValueError(f"{text[:40]!r}, which is no number in a unit of {table}")
        factor = unit
    return _scale(float(match[0]), text, table, factor)


def _scale(number: float, text: str, table: str, factor: float | None) -> float:
    if factor is None and not math.isnan(number):
        raise ValueError(f"{text[:40]!r} without a unit; declare {table}.unit")
    return number if factor is None else number * factor


def find_unit(table: str, text: str) -> float | None:
    """The factor of a unit such as `mW`, `Watts` or `µJ`; None if it is none of the quantity."""
    text = text.strip().replace("μ", "µ")
    return UNITS[table].get(_WORDS.get(table, {}).get(text, text))


def split_header(text: str) -> tuple[str, str]:
    """Name and unit of a column with a header such as `power.draw [W]`; the unit may be empty."""
    # A longer text is no header, and the pattern would take long on it.
    match = _HEADER.fullmatch(text) if len(text) <= _MOST_OF_HEADER else None
    if match is None:
        return text, ""
    return match["name"], (match["square"] or match["round"] or "").strip()
