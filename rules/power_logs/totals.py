"""What the rows of a table are that has totals of runs, windows or job steps, and no readings.

An entry `totals` of formats.toml names the columns, by preference: `name`; `seconds`, or `elapsed`
as `[days-]hours:minutes:seconds`; and `energy` with its `unit`, or `energies`, a pattern of columns
that add up.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rules.power_logs.builder import LogSource
from rules.power_logs.cells import find_unit, split_header
from rules.power_logs.csv_log import split_line

MAX_ROWS = 20
"""So many rows are listed one by one."""
_MOST_J = 1e15
"""Slurm writes a number beyond every energy where it has no value."""
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def list_totals(
    source: LogSource, delimiter: str, columns: Mapping[str, Any], header: Sequence[str]
) -> Iterator[str]:
    """Yield a line for each of the first rows below `header` that state an energy: its name, and
    as far as the row has them energy in J, duration in s and their ratio in W."""
    found = 0
    is_below = False
    for _, line in source.lines:
        cells = split_line(line.lstrip().removeprefix("#"), delimiter)
        names = [split_header(cell)[0] for cell in cells]
        if names == [*header]:
            is_below = True
        elif is_below and len(cells) == len(header):
            row = dict(zip(header, cells, strict=True))
            energy_j = _read_energy_j(row, columns)
            if not 0 < energy_j < _MOST_J:
                continue
            found += 1
            if found <= MAX_ROWS:
                yield _describe(_get(row, columns["name"]), energy_j, _read_seconds(row, columns))
    if found > MAX_ROWS:
        yield f"  and {found - MAX_ROWS} more rows"


def _describe(name: str, energy_j: float, seconds: float) -> str:
    text = f"  {name[:80]}: {energy_j:.1f} J"
    return f"{text} in {seconds:g} s, mean {energy_j / seconds:.3f} W" if seconds > 0 else text


def _get(row: Mapping[str, str], names: Sequence[str]) -> str:
    """The first cell with a text in it, of the columns with these names."""
    return next((row[name] for name in names if row.get(name)), "")


def _read_energy_j(row: Mapping[str, str], columns: Mapping[str, Any]) -> float:
    """NaN if the row has no energy."""
    factor = find_unit("energy", columns["unit"])
    assert factor is not None
    if pattern := columns.get("energies"):
        cells = [cell for name, cell in row.items() if re.fullmatch(pattern, name)]
        return math.fsum(map(_parse, cells)) * factor
    return _parse(_get(row, columns["energy"])) * factor


def _read_seconds(row: Mapping[str, str], columns: Mapping[str, Any]) -> float:
    """NaN if the row has no duration."""
    if seconds := _get(row, columns["seconds"]):
        return _parse(seconds)
    match = _ELAPSED.fullmatch(_get(row, columns.get("elapsed", ())))
    if match is None:
        return math.nan
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _parse(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
