"""The table behind everything that shows its numbers: the HTML table, its CSV, its part of the
page's JSON, the Markdown and LaTeX tables, and the data of its charts. One source keeps title,
tooltip, table and download consistent.

A row is a flat mapping from key to plain value: a number in the unit of its column, a text, true,
false, or None if the value is unknown. A column may add keys beside `key`:

    key_low, key_high, key_n   95 % interval and number of epochs or runs (`Column.interval`)
    key_kind                   origin of the value, one of `KINDS` (`Column.kinds`)

These keys have the same meaning in every table:

    standing      closed, open, control, demo or published
    doubt         reason why the cap is not known to have held, else None
    implausible   reason why the figure is implausible, else None
    bundle        links to the evidence, relative to the page, separated by blanks, else None
    line          configuration shared by all caps of one line of a chart
    model         short name of the board, which selects colour and shape
"""

import csv
import io
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Record = TypeVar("Record", default=Any)
else:
    from typing import TypeVar

    Record = TypeVar("Record")

from checker.printable import escape_all_but

Value = float | int | str | bool | None
TableRow = Mapping[str, Value]

KINDS = ("measured", "printed", "assumed", "bound")
"""Measured by a bundle, printed in a paper, based on a stated assumption, or a lower bound."""

_FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet could begin a formula: at the start of a cell, and after a character that
separates cells in some countries. Blanks before the sign and full-width signs count too."""

_DIGITS = 10
"""Significant digits in the page and its downloads: more than any measurement has, in half the
bytes of a full float."""

NO_BREAK = "\u202f"
"""Narrow no-break space, between groups of three digits."""
_NARROW_BLANKS = frozenset(NO_BREAK)
_BLANKS = _NARROW_BLANKS | {"\t", "\n"}


Form = Literal["text", "truth", "date", "number", "count", "signed", "evidence", "findings"]


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column of a table of the page or of a data set."""

    key: str
    title: str = ""
    """The head on the page."""
    unit: str = ""
    form: Form = "text"
    """A number has `digits` significant digits, a count no added decimals, a signed number two
    decimals. A date never breaks."""
    digits: int = 4
    about: str = ""
    """The meaning, a phrase for the tooltip and the data dictionary."""
    interval: bool = False
    kinds: bool = False
    hidden: bool = False
    """The column is in downloads and charts but not in the HTML table."""
    optional: bool = False
    """The column is left out of a table none of whose rows has a value."""
    note_key: str = ""
    """The key of another column, whose text stands below the value in the HTML table."""
    read: Callable[[Record], Any] | None = None
    """The value of a record, None if it is not known. An estimate or a figure fills all `keys`."""

    @property
    def label(self) -> str:
        """Title and unit, as for an axis or a tooltip."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that the column adds to a row."""
        interval = (f"{self.key}_low", f"{self.key}_high", f"{self.key}_n") if self.interval else ()
        return (self.key, *interval, *((f"{self.key}_kind",) if self.kinds else ()))


@dataclass(frozen=True)
class ReportTable:
    """A table. `id` is its anchor on the page and the name of its files. It starts with the id
    of the workload if the table belongs to one."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    """Every row has every key. Figures are rounded to `_DIGITS` significant digits."""
    about: str = ""
    """The note below the table."""
    compact_keys: tuple[str, ...] = ()
    """The columns that the page shows until a reader asks for more; empty for all columns."""
    identities: tuple[Hashable, ...] = ()
    """What each row is of, such as a sweep or a cap of a group, where that is not the bundles of
    the row. The tables of accelerators and of whole nodes have rows of the same identities."""
    name_keys: frozenset[str] = frozenset({"line", "result", "setting", "against"})
    """The columns of names that can have a number which depends on the other rows."""
    node_rows: Mapping[int, TableRow] = field(default_factory=dict)
    """Rows with figures of whole nodes in place of those of accelerators, by the number of the row.
    The page can draw them, so axes and labels of charts have room for them."""

    def __post_init__(self) -> None:
        optional = [column.key for column in self.columns if column.optional]
        absent = {key for key in optional if all(row.get(key) is None for row in self.rows)}
        columns = tuple(column for column in self.columns if column.key not in absent)
        # The dataclass is frozen.
        object.__setattr__(self, "columns", columns)
        keys = self.keys
        # Two columns with one key would overwrite each other in a row. These are errors of the
        # program.
        if len(set(keys)) != len(keys):
            raise ValueError(f"table {self.id}: two columns have one key")
        for row in self.rows:
            if unknown_keys := row.keys() - {*keys, *absent}:
                raise ValueError(
                    f"table {self.id}: a row has keys that no column has: {sorted(unknown_keys)}"
                )
        # Titles and notes contain names from strangers.
        for name in ("title", "about"):
            object.__setattr__(self, name, escape_invisible(getattr(self, name)))
        # Round once, here. The page and its script then round the same values that a reader
        # downloads.
        rows = tuple({key: _normalize(row.get(key)) for key in keys} for row in self.rows)
        # Charts are drawn in other processes, which readers cannot be sent to.
        columns = tuple(replace(column, read=None) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        # The dataclass is frozen.
        object.__setattr__(self, "rows", rows)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for column in self.columns for key in column.keys)

    def get_column(self, key: str) -> Column:
        """The column with that key. Raises KeyError if there is none."""
        for column in self.columns:
            if column.key == key:
                return column
        raise KeyError(key)

    @property
    def data(self) -> list[dict[str, Value]]:
        """The rows for charts and downloads."""
        return [dict(row) for row in self.rows]

    def widen(self, data: Sequence[TableRow]) -> list[TableRow]:
        """Some rows, and all that the page draws in the scope of whole nodes."""
        return [*data, *self.node_rows.values()]


def to_record(table: ReportTable) -> dict[str, Any]:
    """The table for JSON. Columns hold only what differs from the defaults of `Column`; rows are
    lists in the order of `keys`."""
    header = {"id": table.id, "title": table.title, "about": table.about}
    rows = [list(row.values()) for row in table.rows]
    columns = [
        {k: v for k, v in vars(c).items() if v != getattr(Column, k, None)} for c in table.columns
    ]
    return header | {"columns": columns, "keys": list(table.keys), "rows": rows}


def to_csv(table: ReportTable) -> str:
    """The table as CSV (RFC 4180) with one header line of keys, and one line for each row. None is
    an empty cell. Tabs and line breaks in texts are escaped. Text that a spreadsheet could run as a
    formula gets an apostrophe before it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(table.keys)
    for row in table.rows:
        writer.writerow(_format_csv_cell(value) for value in row.values())
    return buffer.getvalue()


def _format_csv_cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # A row is one line, also for programs that read lines.
        return _FORMULA.sub(r"\1'", escape_all_but(value, _NARROW_BLANKS))
    # `repr` is the shortest text that reads back as the same number.
    return repr(value)


def round_significant(value: float, digits: int) -> float | int:
    """`value` with so many significant digits, as an integer if it has no fraction, as JavaScript
    writes it."""
    rounded = float(f"{value:.{digits}g}")
    # Integers of this size are exact in JavaScript too.
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _normalize(value: Value) -> Value:
    """Round a float to `_DIGITS`. NaN and infinity become None."""
    if value is None:  # Most cells of a wide table.
        return None
    if isinstance(value, str):
        return escape_invisible(value)
    if not isinstance(value, float):
        return value
    return round_significant(value, _DIGITS) if math.isfinite(value) else None


def escape_invisible(text: str) -> str:
    """Escape every character that is invisible or changes the text direction, because names come
    from strangers. Tabs, line breaks and narrow blanks stay."""
    return escape_all_but(text, _BLANKS)


def format_value(column: Column, row: TableRow) -> str:
    """The value of a cell as the page shows it, without its interval; empty if the value is
    unknown.

    A printed number keeps its digits. Assumed numbers and bounds carry their sign.
    """
    value = row.get(column.key)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        # A number of accelerators stays on the line of its board.
        return value.replace(" \u00d7 ", f"{NO_BREAK}\u00d7{NO_BREAK}")
    match row.get(f"{column.key}_kind"):
        # A figure of a paper has the digits that the paper prints.
        case "printed":
            return f"{value:,}".removesuffix(".0").replace(",", NO_BREAK)
        case "assumed":
            return f"≈{NO_BREAK}{format_number(value, column.digits)}"
        # A bound is an estimate: three digits are enough.
        case "bound":
            return f"≥{NO_BREAK}{format_number(value, 3)}"
    return format_number(value, 1) if column.form == "count" else _format_plain(column, value)


def _format_plain(column: Column, value: float) -> str:
    return format_signed(value) if column.form == "signed" else format_number(value, column.digits)


def format_interval(column: Column, row: TableRow) -> str:
    """The 95 % interval of a cell and its n as the page shows them; empty without an interval."""
    if not column.interval:
        return ""
    low, high, n = (row.get(f"{column.key}_{suffix}") for suffix in ("low", "high", "n"))
    if not isinstance(low, float | int) or not isinstance(high, float | int):
        return ""
    # Between numbers with a sign, a dash would look like a minus.
    dash = " to " if column.form == "signed" or low < 0 else "\u2013"
    ends = dash.join(_format_plain(column, end) for end in (low, high))
    return f"{ends}, n{NO_BREAK}={NO_BREAK}{n}"


def find_doubt(column: Column, row: TableRow) -> str | None:
    """The reason why a figure is shown in parentheses, or None: its cap is not known to have
    held, or it is implausible. Powers and clocks are never in parentheses, because they are
    shown as read."""
    if column.form not in ("number", "signed") or column.key.endswith(("_w", "_mhz")):
        return None
    reason = row.get("implausible") or row.get("doubt")
    return str(reason) if reason else None


def format_number(value: float, digits: int = 4) -> str:
    """`value` with at least `digits` significant digits and grouped thousands. No digit before
    the decimal point is rounded away."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return format_fixed(value, decimals)


def format_fixed(value: float, decimals: int) -> str:
    """`value` with so many decimals and grouped thousands."""
    # U+2212 is the typographic minus sign; a hyphen is too short.
    return f"{value:,.{decimals}f}".replace(",", NO_BREAK).replace("-", "\u2212")


def format_half_width(text: str, ci95: tuple[float, float]) -> str:
    """Half of an interval with the decimals of the value, which is formatted as `text`."""
    return format_fixed((ci95[1] - ci95[0]) / 2, len(text.partition(".")[2]))


def format_signed(value: float) -> str:
    """`value` with two decimals and a true minus sign; zero has no sign."""
    # Adding zero turns -0.0 into 0.0.
    return format_fixed(round(value, 2) + 0.0, 2)


def to_markdown(table: ReportTable) -> str:
    """The visible columns, without evidence, as a GitHub Markdown table with a title line."""
    columns = _select_paper_columns(table)
    lines = [
        f"**{_escape_markdown(table.title)}**",
        "",
        "| " + " | ".join(_escape_markdown(c.label) for c in columns) + " |",
        "|" + "|".join("---" if c.form == "text" else "---:" for c in columns) + "|",
    ]
    lines += [
        "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"
        for cells in _format_rows(table, columns)
    ]
    return "\n".join(lines) + "\n"


def _select_paper_columns(table: ReportTable) -> list[Column]:
    return [c for c in table.columns if not c.hidden and c.form not in ("evidence", "findings")]


def _format_rows(table: ReportTable, columns: Sequence[Column]) -> Iterator[list[str]]:
    for row in table.rows:
        yield [
            f"({cell})" if (cell := format_value(c, row)) and find_doubt(c, row) else cell
            for c in columns
        ]


def _escape_markdown(cell: str) -> str:
    # The backslash comes first, because the others are escaped with it.
    for character in "\\`*_[]<>|~#&$":
        cell = cell.replace(character, f"\\{character}")
    return " ".join(cell.split())
