"""Writes the LaTeX tables, the references and the example document of a report."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reporting.charts.chart import Chart
from reporting.papers.bibliography import Bibliography, to_bibtex
from reporting.papers.latex import FONT_SIZE, escape_breakable
from reporting.papers.layout import PaperWidth
from reporting.papers.tables import to_latex
from reporting.report_table import ReportTable

_FLOATS_PER_FLUSH = 6
"""LaTeX holds back only so many floats."""
_CAPTION_WORD = 90.0
"""Longer words of a caption may break, in pt."""
_UNSAFE_IN_PATH = re.compile(r"[^A-Za-z0-9./_+-]")


def write_latex(
    tables: Sequence[ReportTable],
    charts: Sequence[Chart],
    bibliography: Bibliography,
    directory: Path,
    figures: Path | None,
    width: PaperWidth,
) -> None:
    """Write the tables, wattmark.bib and example.tex into `directory`, which exists. `charts` are
    those drawn in the directory `figures`. Raises OSError."""
    table_ids = []
    for table in tables:
        latex = to_latex(table, width, bibliography)
        if latex is not None:
            _write(directory / f"{table.id}.tex", latex)
            table_ids.append(table.id)
    _write(directory / "wattmark.bib", to_bibtex(bibliography))
    folder = os.path.relpath(figures, directory) if figures else "."
    example = _write_example(table_ids, charts, folder, width, bool(bibliography.publications))
    _write(directory / "example.tex", "\n".join(example) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii", newline="")


def _write_example(
    table_ids: Sequence[str],
    charts: Sequence[Chart],
    folder: str,
    width: PaperWidth,
    has_publications: bool,
) -> Iterator[str]:
    """The lines of a document with all tables and figures."""
    yield "% pdflatex example; bibtex example; pdflatex example; pdflatex example"
    # The version of the figures.
    yield "\\pdfminorversion=7"
    yield "\\documentclass[journal]{IEEEtran}"
    yield "\\usepackage{array,booktabs,cite,graphicx,threeparttable,url}"
    if charts and _UNSAFE_IN_PATH.search(folder):
        yield "% Move the figures here: LaTeX cannot read the name of their directory."
        folder = "."
    yield f"\\graphicspath{{{{{folder}/}}}}"
    yield "\\begin{document}"
    yield "\\title{Tables and Figures of wattmark}"
    yield "\\maketitle"
    floats = [f"\\input{{{table_id}.tex}}" for table_id in table_ids]
    floats += [_write_figure(chart, width) for chart in charts]
    for number, text in enumerate(floats, start=1):
        yield text
        if number % _FLOATS_PER_FLUSH == 0:
            yield "\\clearpage"
    # LaTeX refuses an empty list of references.
    if has_publications:
        yield "\\nocite{*}"
        yield "\\bibliographystyle{IEEEtran}"
        yield "\\bibliography{wattmark}"
    yield "\\end{document}"


def _write_figure(chart: Chart, width: PaperWidth) -> str:
    environment = "figure*" if width > 252 else "figure"
    caption = escape_breakable(f"{chart.table.title}. {chart.title}.", _CAPTION_WORD, FONT_SIZE)
    return (
        f"\\begin{{{environment}}}\n\\centering\n\\includegraphics{{{chart.id}.pdf}}\n"
        f"\\caption{{{caption}}}\n\\label{{fig:{chart.id}}}\n\\end{{{environment}}}"
    )
