"""Tables as LaTeX that fit one or two columns of IEEEtran without resizing.

A table of a paper shows less than the table of the page: the columns that `columns.py` lists, as
far as they fit. Columns whose cells are all equal become a note. The CSV file has all columns.
"""

from collections.abc import Iterator, Sequence

from reporting.papers.bibliography import Bibliography
from reporting.papers.cells import list_reasons
from reporting.papers.columns import is_text
from reporting.papers.latex import FONT_SIZE, escape_breakable, escape_latex, shorten
from reporting.papers.layout import (
    GAP,
    MAX_NOTE_LETTERS,
    NOTE_FONT_SIZE,
    Layout,
    PaperColumn,
    PaperWidth,
    get_new_name,
    lay_out,
    split_rows,
)
from reporting.report_table import ReportTable

MAX_ROWS = 120
"""Longer tables are for plots and have no LaTeX file."""
_CAPTION_WORD = 90.0
"""Longer words of a caption may break, in pt."""


def to_latex(table: ReportTable, width: PaperWidth, bibliography: Bibliography) -> str | None:
    """The table as one or more floats of LaTeX; None if it has no rows or more than `MAX_ROWS`.

    The floats need the packages array, booktabs and threeparttable. Text from bundles is escaped.
    """
    if not 0 < len(table.rows) <= MAX_ROWS:
        return None
    layout = lay_out(table, width, bibliography)
    if layout is None:
        return None
    lines = ["% needs \\usepackage{array,booktabs,threeparttable}"]
    if layout.left_out:
        labels = escape_latex("; ".join(column.label for column in layout.left_out))
        lines.append(f"% columns without room, which {table.id}.csv has: {labels}")
    parts = list(split_rows(layout))
    for number, rows in enumerate(parts, start=1):
        suffix = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        label = f"tab:{table.id}{f'-{number}' if number > 1 else ''}"
        lines += _write_float(layout, rows, suffix, label)
    return "\n".join(lines) + "\n"


def _write_float(layout: Layout, rows: Sequence[int], suffix: str, label: str) -> Iterator[str]:
    environment = "table*" if layout.width > 252 else "table"
    caption = escape_breakable(layout.caption + suffix, _CAPTION_WORD, FONT_SIZE)
    specification = "".join(map(_specify, layout.columns))
    yield f"\\begin{{{environment}}}"
    yield "\\centering"
    yield f"\\caption{{{caption}}}"
    yield f"\\label{{{label}}}"
    yield "\\begin{threeparttable}"
    yield f"\\footnotesize\\setlength{{\\tabcolsep}}{{{GAP / 2:g}pt}}"
    yield f"\\begin{{tabular*}}{{\\linewidth}}{{@{{\\extracolsep{{\\fill}}}}{specification}@{{}}}}"
    yield "\\toprule"
    yield from _write_head(layout.columns)
    yield "\\midrule"
    yield from _write_rows(layout, rows)
    yield "\\bottomrule"
    yield "\\end{tabular*}"
    yield from _write_notes(layout, rows)
    yield "\\end{threeparttable}"
    yield f"\\end{{{environment}}}"


def _specify(column: PaperColumn) -> str:
    if not is_text(column.column):
        return "r"
    # Lines of a narrow column cannot be justified.
    ragged = ">{\\raggedright\\arraybackslash}"
    return f"{ragged}p{{{column.width:.1f}pt}}" if column.breaks else "l"


def _write_head(columns: Sequence[PaperColumn]) -> Iterator[str]:
    """The lines of the titles, which end in the last line."""
    height = max(len(column.head) for column in columns)
    for line in range(-height, 0):
        titles = (c.head[line] if -line <= len(c.head) else "" for c in columns)
        yield f"{' & '.join(map(escape_latex, titles))} \\\\"


def _write_rows(layout: Layout, rows: Sequence[int]) -> Iterator[str]:
    first = layout.columns[0]
    for place, number in enumerate(rows):
        before = rows[:place]
        name = get_new_name(layout, before, number)
        if name is not None:
            if before:
                yield "\\addlinespace"
            yield f"{_write_name(layout, name)} \\\\"
        cells = [_write_cell(layout, column, number) for column in layout.columns]
        if before and first.cells[before[-1]] == first.cells[number]:
            cells[0] = ""
        if mark := layout.marks.get_mark(layout.table.rows[number]):
            cells[0] += f"\\tnote{{{mark}}}"
        yield f"{' & '.join(cells)} \\\\"


def _write_name(layout: Layout, name: str) -> str:
    """A name over all columns. The box has no width, so that it widens no column."""
    latex = layout.bibliography.add_citations(name, layout.width / 3, FONT_SIZE)
    box = f"\\parbox[b]{{\\linewidth}}{{\\raggedright {latex}}}"
    return f"\\multicolumn{{{len(layout.columns)}}}{{@{{}}l}}{{\\makebox[0pt][l]{{{box}}}}}"


def _write_cell(layout: Layout, column: PaperColumn, number: int) -> str:
    text = column.cells[number]
    if not is_text(column.column):
        return escape_latex(text)
    return layout.bibliography.add_citations(text, column.width, FONT_SIZE)


def _write_notes(layout: Layout, rows: Sequence[int]) -> Iterator[str]:
    reasons = {reason for number in rows for reason in list_reasons(layout.table.rows[number])}
    marked_notes = [(m, reason) for reason, m in layout.marks.letters.items() if reason in reasons]
    notes = [("", note) for note in layout.notes] + marked_notes
    if not notes:
        return
    yield "\\begin{tablenotes}[flushleft]\\scriptsize\\raggedright"
    for mark, note in notes:
        text = shorten(note, MAX_NOTE_LETTERS)
        latex = layout.bibliography.add_citations(text, layout.width / 3, NOTE_FONT_SIZE)
        yield f"\\item{f'[{mark}]' if mark else ''} {latex}"
    yield "\\end{tablenotes}"
