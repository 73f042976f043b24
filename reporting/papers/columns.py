"""Which columns of a table a paper shows, most important first."""

from reporting.report_table import Column, ReportTable
from reporting.sections import find_section

_FIRST = ("cap_w", "value", "count", "level_percent", "source")
"""Columns that tell rows of other tables apart, or say who published them."""


def is_text(column: Column) -> bool:
    """Whether the cells are words: texts, and the publications that rows come from."""
    return column.form == "text" or column.title == "source"


def list_paper_columns(table: ReportTable) -> list[Column]:
    """The columns that a paper may show, in their order from left to right."""
    if keys := _list_keys(table):
        # A column may be absent, as where a report has no runs.
        return [column for key in keys for column in table.columns if column.key == key]
    return [
        column
        for column in table.columns
        if not column.hidden and (is_text(column) or column.form not in ("evidence", "findings"))
    ]


def rank_columns(table: ReportTable, columns: list[Column]) -> list[Column]:
    """The same columns, most important first: the order in which they get room."""
    if _list_keys(table):
        return columns
    return sorted(
        columns,
        key=lambda c: (c is not columns[0], c.key not in _FIRST, not c.interval),
    )


def _list_keys(table: ReportTable) -> tuple[str, ...]:
    section = find_section(table)
    return section.paper_keys if section else ()
