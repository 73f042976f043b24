"""pdflatex sets all tables and figures in one and in two columns of IEEEtran without an error, and
nothing is wider than its column."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Submissions
from support.report.altered_runs import make_altered_run
from support.report.html import parse_tables

from reporting.charts import build_charts
from reporting.cli import main
from reporting.papers.bibliography import Bibliography, Publication
from reporting.papers.export import write_latex
from reporting.papers.figures import write_figures
from reporting.report_table import Column, ReportTable

NEEDED = ("IEEEtran.cls", "IEEEtran.bst", "threeparttable.sty", "booktabs.sty", "ptmr7t.tfm")


def has_latex() -> bool:
    """Whether pdflatex, bibtex and the files that the exports need are installed."""
    if not all(map(shutil.which, ("pdflatex", "bibtex", "kpsewhich"))):
        return False
    paths = subprocess.run(["kpsewhich", *NEEDED], capture_output=True, check=False)
    return len(paths.stdout.splitlines()) == len(NEEDED)


pytestmark = pytest.mark.skipif(
    not has_latex(),
    reason=f"needs pdflatex and bibtex with {', '.join(NEEDED)}: .ci/run installs them",
)
with_whole_report = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
MAX_OVERFULL_PT = 1.0
HOSTILE = (
    "\\end{document}",
    "\\input{/etc/passwd}",
    "a_b^c~d#e$f%g&h{i}j",
    "{",
    "}",
    "100 % of $x$ -- `quoted' ?`",
    "[x] * \\\\ \\tnote{z}",
    "京都大学 計算機センター",
    "Žluťoučký kůň Ærø Łódź ßẞ",
    "🚀 مركز الحوسبة",
    "e\u0301\u0327\u0304x",
    "n" * 4096,
    "W" * 300,
    "京" * 300,
    "a-b_" * 100,
    "\x00\x07",
)


def compile_example(directory: Path) -> str:
    """Compile example.tex and return the log of its last run."""
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "example"]
    bibtex = [["bibtex", "example"]] if (directory / "wattmark.bib").stat().st_size else []
    for command in (latex, *bibtex, latex, latex):
        done = subprocess.run(command, cwd=directory, capture_output=True, timeout=120, check=False)
        output = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, output[-3000:]
    return (directory / "example.log").read_text(encoding="latin-1")


def check_log(log: str) -> None:
    overfull_pt = re.findall(r"^Overfull \\[hv]box \(([\d.]+)pt.*", log, re.MULTILINE)
    assert not [width for width in overfull_pt if float(width) > MAX_OVERFULL_PT], log[-3000:]
    assert "Float too large" not in log
    assert not re.findall(r"^LaTeX Warning: .* undefined.*", log, re.MULTILINE)
    assert not re.findall("^Missing character.*", log, re.MULTILINE)


@with_whole_report
def test_exports_of_the_submissions_fit_two_columns(whole_report: Path, tmp_path: Path) -> None:
    for name in ("tables", "figures"):
        shutil.copytree(whole_report / name, tmp_path / name)
    check_log(compile_example(tmp_path / "tables"))


@with_whole_report
def test_exports_of_the_submissions_fit_one_column(whole_report: Path, tmp_path: Path) -> None:
    documents = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in (whole_report / "tables").glob("*.json")
    ]
    tables = parse_tables(record for document in documents for record in document["tables"])
    charts = [chart for table in tables for chart in build_charts(table)]
    write_figures(charts, tmp_path, 252)
    write_latex(tables, charts, Bibliography.from_publications([]), tmp_path, tmp_path, 252)
    check_log(compile_example(tmp_path))


def make_hostile_table(number: int, text: str) -> ReportTable:
    columns = (
        Column("name", "name"),
        Column("system", "system"),
        Column("rate", "rate", "images/s", "number", interval=True),
        Column("doubt", "doubt", hidden=True),
    )
    row: dict[str, Any] = {"rate": 1.0, "rate_low": 0.9, "rate_high": 1.1, "rate_n": 10}
    rows = tuple(
        {**row, "name": name, "system": f"{text} {n}", "doubt": text}
        for n, name in enumerate((text, text, f"{text} {text}"))
    )
    return ReportTable(
        f"hostile-{number}", text, columns, rows, f"{text}: Evil et al. 2026, {text}"
    )


def test_names_from_strangers_are_set_as_text(tmp_path: Path) -> None:
    tables = [make_hostile_table(number, text) for number, text in enumerate(HOSTILE)]
    publications = [
        Publication(text, f"A. Evil, {text}", text, 2026, "https://a.example/%7B{x}_#&~é \\b")
        for text in HOSTILE
    ]
    bibliography = Bibliography.from_publications(publications)
    write_latex(tables, [], bibliography, tmp_path, None, 252)
    check_log(compile_example(tmp_path))


def test_options_of_the_command_reach_the_exports(submissions: Submissions, tmp_path: Path) -> None:
    submissions.add(make_altered_run(name="\\end{document} 京 { 100 % _"))
    tables, figures = tmp_path / "a & b" / "tables", tmp_path / "a & b" / "figures"
    options = ["--tables", str(tables), "--figures", str(figures), "--width", "252"]
    arguments = [str(submissions.root), "-o", str(tmp_path / "report.html"), *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    example = (tables / "example.tex").read_text(encoding="ascii")
    assert example.count("\\includegraphics") == len(list(figures.glob("*.pdf"))) > 0
    assert "\\begin{figure}" in example and "\\graphicspath{{../figures/}}" in example
    check_log(compile_example(tables))
    system = (tables / "systems-table.tex").read_text(encoding="ascii")
    assert "\\textbackslash{}" in system and "{[}U+4EAC{]}" in system
