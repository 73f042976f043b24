"""The cells of a table for papers, the marks of its rows, and the notes below it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from reporting.report_table import (
    NO_BREAK,
    Column,
    ReportTable,
    TableRow,
    find_doubt,
    format_fixed,
    format_interval,
    format_value,
)

_REASONS = ("implausible", "doubt", "withheld", "caution")
"""The columns with what a reader must know about a row."""
_OPEN = "open: departs from the rules of the reference implementation in stated ways"
_SYMMETRY = 1e-3
"""Of the half-width: how far an interval may be from symmetric to be written with ±."""
_MARKS = {
    "≈": "based on an assumption, such as power = cap",
    "≥": "lower bound",
}


@dataclass(frozen=True)
class RowMarks:
    """The reasons of all rows by the letters that refer to them, such as `a` and `ab`."""

    letters: Mapping[str, str]
    """By reason, in the order of the rows."""

    @classmethod
    def from_rows(cls, rows: Sequence[TableRow]) -> "RowMarks":
        """Assign a letter to each reason."""
        reasons = dict.fromkeys(reason for row in rows for reason in list_reasons(row))
        return cls({reason: _name_mark(n) for n, reason in enumerate(reasons)})

    def get_mark(self, row: TableRow) -> str:
        """The letters of the row, separated by commas; empty if it has no reason."""
        return ",".join(self.letters[reason] for reason in list_reasons(row))


def list_reasons(row: TableRow) -> list[str]:
    """What a reader must know about the row, without repeats."""
    reasons = {key: str(row[key]) for key in _REASONS if row.get(key)}
    # A caution is the reason why such a result is not compared.
    if "caution" in reasons:
        reasons.pop("withheld", None)
    if row.get("standing") == "open":
        reasons["standing"] = _OPEN
    return list(dict.fromkeys(reasons.values()))


def format_cell(column: Column, row: TableRow) -> str:
    """The value as text, with its 95 % interval: `7 465 ± 11`, or `7 465 [7 440, 7 476]` if the
    interval is not symmetric. A figure that is excluded from comparison is in parentheses. The
    baseline of a comparison is named in place of its change of zero."""
    if row.get(column.key.replace("_percent", "_told")) == "baseline":
        return "baseline"
    text = format_value(column, row)
    if not text:
        return ""
    low, high = row.get(f"{column.key}_low"), row.get(f"{column.key}_high")
    value = row[column.key]
    if (
        isinstance(value, float | int)
        and isinstance(low, float | int)
        and format_interval(column, row)
    ):
        text = _format_with_interval(text, float(value), float(low), float(high or 0))
    return f"({text})" if find_doubt(column, row) else text


def _format_with_interval(text: str, value: float, low: float, high: float) -> str:
    half_width = (high - low) / 2
    if half_width <= 0:
        return text
    # Two digits of the half-width, and the value to the same place.
    decimals = max(0, 1 - int(f"{half_width:.1e}".partition("e")[2]))
    figure, *ends = (format_fixed(n, decimals) for n in (value, half_width, low, high))
    if abs(value - (low + high) / 2) <= _SYMMETRY * half_width:
        interval = f"±{NO_BREAK}{ends[0]}"
    else:
        interval = f"[{ends[1]}, {ends[2]}]"
    mark = f"{text[0]}{NO_BREAK}" if text[0] in _MARKS else ""
    return f"{mark}{figure} {interval}"


def collect_notes(
    table: ReportTable,
    columns: Sequence[Column],
    constants: Sequence[tuple[Column, str]],
) -> list[str]:
    """The notes on the whole table: equal columns, marks that occur, and the note of the page."""
    cells = [format_cell(column, row) for row in table.rows for column in columns]
    cells += [text for _, text in constants]
    return list(_write_notes(table, columns, constants, cells))


def _write_notes(
    table: ReportTable,
    columns: Sequence[Column],
    constants: Sequence[tuple[Column, str]],
    cells: Sequence[str],
) -> Iterator[str]:
    if constants:
        parts = (f"{c.title} {text}{f' {c.unit}' if c.unit else ''}" for c, text in constants)
        yield f"All rows: {'; '.join(parts)}."
    if any("±" in cell or "[" in cell for cell in cells):
        yield from _explain_intervals(table, columns)
    if any(find_doubt(column, row) for column in columns for row in table.rows):
        yield "In parentheses: excluded from comparison; the mark of the row gives the reason."
    for mark, meaning in _MARKS.items():
        if any(cell.lstrip("(").startswith(mark) for cell in cells):
            yield f"{mark}: {meaning}."
    if table.about:
        yield table.about


def _explain_intervals(table: ReportTable, columns: Sequence[Column]) -> Iterator[str]:
    sizes = {
        int(n)
        for column in columns
        for row in table.rows
        if isinstance(n := row.get(f"{column.key}_n"), float | int)
    }
    if sizes:
        n = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{min(sizes)}"
        yield f"±: half-width of the 95 % interval; in brackets: its ends; n = {n}."


def _name_mark(number: int) -> str:
    """`a` to `z`, then `aa`, `ab` and so on."""
    first, last = divmod(number, len(ascii_lowercase))
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]
