"""How a table fits one or two columns of a paper: its columns, their widths, and the rows of each
page. All lengths are in pt."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from reporting.papers.bibliography import Bibliography
from reporting.papers.cells import RowMarks, collect_notes, format_cell
from reporting.papers.columns import is_text, list_paper_columns, rank_columns
from reporting.papers.latex import (
    FONT_SIZE,
    MAX_CELL_LETTERS,
    measure_longest_word,
    measure_text,
    shorten,
    wrap_text,
)
from reporting.report_table import Column, ReportTable

PaperWidth = Literal[252, 516]
"""One or two columns of IEEEtran."""
GAP = 6.0
"""Between two columns."""
NOTE_FONT_SIZE = 7.0
MAX_NOTE_LETTERS = 600
"""Longer notes are cut. Their whole is in the CSV file."""
_MAX_CAPTION_LETTERS = 200
_FILL = 0.98
"""Of the width: estimated widths may be this wrong."""
_LEAST_TEXT_WIDTH, _LEAST_UNIT_WIDTH = 46.0, 30.0
"""Of a column of text whose lines may break, and of a unit in a title."""
_LONGEST_NAME = 100.0
"""Longer names of rows stand above their rows, if several rows share one."""
_CITATION_WIDTH, _MARK_WIDTH, _INDENT = 16.0, 8.0, 8.0
"""Of a reference such as `[12]`, of the letters that refer to notes, and of rows below a name."""
_ROW_HEIGHT, _NOTE_HEIGHT, _GROUP_GAP = 10.0, 8.5, 5.0
_PAGE_HEIGHT = 640.0
"""Of a page of IEEEtran, apart from the word above the caption of a table."""


@dataclass(frozen=True)
class PaperColumn:
    """A column as a paper shows it."""

    column: Column
    cells: tuple[str, ...]
    """Plain texts in the order of the rows."""
    head: tuple[str, ...]
    """Lines."""
    natural_width: float
    width: float
    """Below `natural_width` if the texts have to break."""

    @property
    def breaks(self) -> bool:
        return self.width < self.natural_width


@dataclass(frozen=True)
class Layout:
    """A table that fits its width."""

    table: ReportTable
    columns: Sequence[PaperColumn]
    names: Sequence[str] | None
    """The name above each row, which stands there once for rows with one name. None: names are in
    the first column."""
    caption: str
    notes: Sequence[str]
    """On the whole table."""
    marks: RowMarks
    width: PaperWidth
    left_out: Sequence[Column]
    """Columns without room."""
    bibliography: Bibliography


def lay_out(table: ReportTable, width: PaperWidth, bibliography: Bibliography) -> Layout | None:
    """Choose columns and widths. None if the table has no value."""
    columns = {c: _format_cells(table, c) for c in list_paper_columns(table)}
    # A column without a value, and one with the same value in each row, takes no room.
    candidates = [c for c, cells in columns.items() if any(cells)]
    constants = [(c, columns[c][0]) for c in candidates[1:] if _is_constant(columns[c])]
    candidates = [c for c in candidates if c not in dict(constants)]
    if not candidates:
        return None
    marks = RowMarks.from_rows(table.rows)
    measured = [
        _measure_column(column, columns[column], bibliography)
        for column in rank_columns(table, candidates)
    ]
    first = measured[0]
    names = first.cells if _is_shared(first) else None
    if names is not None:
        mark_width = max(measure_text(marks.get_mark(row), NOTE_FONT_SIZE) for row in table.rows)
        no_names, indent = ("",) * len(names), mark_width + _INDENT
        measured[0] = PaperColumn(first.column, no_names, ("",), indent, indent)
    elif marks.letters:
        widths = (first.natural_width + _MARK_WIDTH, first.width + _MARK_WIDTH)
        measured[0] = replace(first, natural_width=widths[0], width=widths[1])
    paper_columns = sorted(_fit(measured, width * _FILL), key=lambda c: candidates.index(c.column))
    shown_columns = [c.column for c in paper_columns]
    return Layout(
        table=table,
        columns=paper_columns,
        names=names,
        caption=shorten(table.title, _MAX_CAPTION_LETTERS),
        notes=[
            shorten(note, MAX_NOTE_LETTERS)
            for note in collect_notes(table, shown_columns, constants)
        ],
        marks=marks,
        width=_choose_width(paper_columns, width),
        left_out=[column for column in candidates if column not in shown_columns],
        bibliography=bibliography,
    )


def split_rows(layout: Layout) -> Iterator[list[int]]:
    """The numbers of the rows of each float, from 0: as many as a page holds."""
    reasons = layout.marks.letters
    notes = sum(_count_note_lines(note, layout.width) for note in (*layout.notes, *reasons))
    # The letters of a caption are small capitals.
    caption = math.ceil(measure_text(layout.caption.upper(), FONT_SIZE) / layout.width)
    head = caption + max(len(column.head) for column in layout.columns)
    height = max(_PAGE_HEIGHT - notes * _NOTE_HEIGHT - head * _ROW_HEIGHT, _PAGE_HEIGHT / 4)
    rows: list[int] = []
    used = 0.0
    for number in range(len(layout.table.rows)):
        row_height = _ROW_HEIGHT * max(_count_lines(c, number) for c in layout.columns)
        if rows and used + row_height > height:
            yield rows
            rows, used = [], 0.0
        if name := get_new_name(layout, rows, number):
            lines = math.ceil(measure_text(name, FONT_SIZE) / layout.width)
            row_height += lines * _ROW_HEIGHT + _GROUP_GAP
        rows.append(number)
        used += row_height
    yield rows


def get_new_name(layout: Layout, before: Sequence[int], number: int) -> str | None:
    """The name to write above a row that follows the rows `before` on its page; None if it has that
    of the row before it."""
    if layout.names is None or (before and layout.names[before[-1]] == layout.names[number]):
        return None
    return layout.names[number]


def _format_cells(table: ReportTable, column: Column) -> tuple[str, ...]:
    return tuple(shorten(format_cell(column, row), MAX_CELL_LETTERS) for row in table.rows)


def _is_constant(cells: Sequence[str]) -> bool:
    return len(cells) > 1 and len(set(cells)) == 1


def _is_shared(first: PaperColumn) -> bool:
    """Whether the names of the first column are long, and most stand in several rows in turn."""
    is_long = is_text(first.column) and first.natural_width > _LONGEST_NAME
    return is_long and len(list(groupby(first.cells))) <= len(first.cells) / 2


def _measure_column(
    column: Column, cells: tuple[str, ...], bibliography: Bibliography
) -> PaperColumn:
    cell_width = max(measure_text(cell, FONT_SIZE) for cell in cells)
    if any(map(bibliography.names_source, cells)):
        cell_width += _CITATION_WIDTH
    title_width = max(cell_width, measure_longest_word(column.title, FONT_SIZE))
    if is_text(column):
        title_width = min(title_width, max(_LEAST_TEXT_WIDTH, title_width / 4))
    head = wrap_text(column.title, title_width, FONT_SIZE)
    if column.unit:
        head += wrap_text(f"({column.unit})", max(title_width, _LEAST_UNIT_WIDTH), FONT_SIZE)
    head_width = max(measure_text(line, FONT_SIZE) for line in head)
    natural_width = max(cell_width, head_width)
    least_width = natural_width
    if is_text(column):
        least_width = min(natural_width, max(_LEAST_TEXT_WIDTH, head_width))
    return PaperColumn(column, cells, tuple(head), natural_width, least_width)


def _fit(candidates: Sequence[PaperColumn], width: float) -> list[PaperColumn]:
    """The columns that fit the width, with their widths. The first is always among them."""
    first, *rest = candidates
    columns, free_width = [first], width - first.width
    for candidate in rest:
        if candidate.width + GAP <= free_width:
            columns.append(candidate)
            free_width -= candidate.width + GAP
    missing = sum(column.natural_width - column.width for column in columns)
    if missing <= free_width:
        return [replace(column, width=column.natural_width) for column in columns]
    share = free_width / missing
    return [replace(c, width=c.width + share * (c.natural_width - c.width)) for c in columns]


def _choose_width(columns: Sequence[PaperColumn], width: PaperWidth) -> PaperWidth:
    """One column of the paper where the table fits it."""
    total = sum(column.natural_width + GAP for column in columns) - GAP
    return 252 if total <= 252 * _FILL else width


def _count_lines(column: PaperColumn, number: int) -> int:
    if not column.breaks:
        return 1
    lines = wrap_text(column.cells[number], column.width, FONT_SIZE)
    return sum(math.ceil(measure_text(line, FONT_SIZE) / column.width) for line in lines) or 1


def _count_note_lines(note: str, width: float) -> int:
    return math.ceil(measure_text(shorten(note, MAX_NOTE_LETTERS), NOTE_FONT_SIZE) / width)
