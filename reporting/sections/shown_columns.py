"""The columns that each chart shows, and their ranges for the alternative text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import ReportTable, TableRow
from reporting.sections.cells import IN_CHART
from reporting.words import count_nouns, format_range

Finder = Callable[[Sequence[TableRow]], str]
"""Writes the finding from the compared rows of a table; empty if they allow none."""


@dataclass(frozen=True)
class ShownColumns:
    """The columns that a chart shows. It shows the rows with a value in the first one."""

    keys: tuple[str, ...]
    find: Finder | None = None
    """Its finding; None if it has none, or one that needs more than the rows of the table."""
    finds_published: bool = False
    """Whether the finding comes from all rows that it shows, published ones too."""
    any_key: bool = False
    """Whether it shows the rows with a value in any column."""
    only_measured: bool = False
    """Whether it leaves out rows whose first column is not measured."""
    prefers_measured: bool = False
    """Whether it leaves out published rows where others are."""
    only_repeats: bool = False
    """Whether it leaves out settings with one run."""
    only: tuple[str, object] | None = None
    """The column and the value of the rows that it shows; None if it shows all rows."""

    def select_rows(self, table: ReportTable) -> list[TableRow]:
        keys = self.keys if self.any_key else self.keys[:1]
        rows = [row for row in table.rows if row.get("standing") != "published"]
        return [
            row
            for row in (rows if self.prefers_measured and rows else table.rows)
            if any(row.get(key) is not None for key in keys)
            and row.get(IN_CHART, True)
            and (not self.only_measured or row.get(f"{keys[0]}_kind") == "measured")
            and (not self.only_repeats or int(row.get("runs") or 0) > 1)
            and (self.only is None or row.get(self.only[0]) == self.only[1])
        ]

    def describe(self, table: ReportTable) -> str:
        """The finding; empty without one."""
        if self.find is None:
            return ""
        rows = self._select_compared(table) if self.finds_published else select_compared(table)
        return self.find(rows)

    def _select_compared(self, table: ReportTable) -> list[TableRow]:
        """The shown rows that findings may come from, published ones too."""
        standings = ("closed", "open", "control", "published")
        return [
            row
            for row in self.select_rows(table)
            if row.get("standing") in standings
            and row.get("provenance") != "simulated"
            and _is_sound(row)
        ]


def select_compared(table: ReportTable) -> list[TableRow]:
    """The measured rows of a table that findings on its charts may come from."""
    return [
        row
        for row in table.rows
        if row.get("standing") in ("closed", "open")
        and row.get("provenance") != "simulated"
        and row.get(IN_CHART, True)
        and _is_sound(row)
    ]


def _is_sound(row: TableRow) -> bool:
    return not any(row.get(key) for key in ("doubt", "implausible", "withheld"))


def describe_ranges(table: ReportTable, columns: ShownColumns) -> str:
    """The ranges of the columns over the sound rows, by provenance, and how many points are not
    compared; empty without a point."""
    shown_rows = columns.select_rows(table)
    if not shown_rows:
        return ""
    sound_rows = [row for row in shown_rows if _is_sound(row)]
    sentences = []
    for noun, standings in _GROUPS.items():
        rows = [row for row in sound_rows if row.get("standing") in standings]
        if rows:
            ranges = "; ".join(_list_ranges(table, columns.keys, rows))
            sentences.append(f"{count_nouns(len(rows), noun)}: {ranges}.")
    if excluded := len(shown_rows) - len(sound_rows):
        verb = "is" if excluded == 1 else "are"
        sentences.append(f"{count_nouns(excluded, 'point')} {verb} not compared.")
    return " ".join((*sentences, "The table has the same values."))


_GROUPS: Mapping[str, tuple[str | None, ...]] = {
    "measured point": ("closed", "open"),
    "published point": ("published",),
    "demo point": ("demo",),
    "value": (None,),
}
"""Names of points by the standings of their rows. Rows of traces have no standing."""


def _list_ranges(
    table: ReportTable, keys: Sequence[str], rows: Sequence[TableRow]
) -> Iterator[str]:
    for key in keys:
        values = [v for row in rows if isinstance(v := row.get(key), int | float)]
        if values:
            column = table.get_column(key)
            sign = "≈ " if any(row.get(f"{key}_kind") == "assumed" for row in rows) else ""
            yield f"{column.title} {sign}{format_range(values, column.unit)}"


def list_numbers(rows: Sequence[TableRow], key: str) -> list[float]:
    return [value for row in rows if (value := get_number(row, key)) is not None]


def get_number(row: TableRow, key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else None
