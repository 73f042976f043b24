"""The columns of a data set as docs/dataset.md lists them: each once, with the tables that have it.

`scripts/round_pages.py` writes the list. The README.md of a data set has a table for each frame.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from reporting.dataset.columns import DTYPES
from reporting.dataset.tables import ALL_TABLES
from reporting.report_table import Column

BREAK = "  "
"""At the end of a line: the next one begins on a line of its own."""

ENDS = {
    "_low": "lower end of the 95 % interval of `{}`, within the run",
    "_high": "upper end of the 95 % interval of `{}`, within the run",
    "_n": "number of scored epochs that `{}` comes from",
    "_kind": "origin of `{}`: measured, printed, assumed (power = cap) or bound (at least)",
}
"""The meanings of the columns that accompany a figure, by the ends of their names."""


def render_columns() -> str:
    """The list, by the tables that share columns."""
    tables_of: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for table in ALL_TABLES:
        for column in table.columns:
            key = (column.key, DTYPES[column.form], column.unit, column.about)
            tables_of[key].append(table.name)
    rows: dict[tuple[str, ...], list[str]] = {}
    for key, names in tables_of.items():
        rows.setdefault(tuple(names), []).extend(_render_column(*key))
    blocks = (f"### {join(names)}\n\n" + "\n".join(lines) for names, lines in rows.items())
    return "\n\n".join([_describe_accompanying(), *blocks])


def _describe_accompanying() -> str:
    (table,) = (table for table in ALL_TABLES if list_accompanied(table.columns))
    figures = join([f"`{name}`" for name in list_accompanied(table.columns)])
    ends = "; ".join(f"`{end}`, {text.format('X')}" for end, text in ENDS.items())
    return f"In `{table.name}`, {figures} have columns with these ends too: {ends}."


def _render_column(name: str, dtype: str, unit: str, meaning: str) -> Iterator[str]:
    """The line of a column; none for one that accompanies a figure."""
    if any(meaning == text.format(name.removesuffix(end)) for end, text in ENDS.items()):
        return
    usual = "float64" if unit else "string"
    kind = ", ".join(filter(None, ("" if dtype == usual else dtype, unit)))
    yield f"`{name}` {kind}".rstrip() + f": {meaning}{BREAK}"


def list_accompanied(columns: Sequence[Column[Any]]) -> list[str]:
    """The figures that have the columns of `ENDS`."""
    names = {column.key for column in columns}
    return [column.key for column in columns if {column.key + end for end in ENDS} <= names]


def join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
