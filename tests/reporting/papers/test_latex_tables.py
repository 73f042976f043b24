"""LaTeX tables for papers: cells, marks, notes, citations and the columns that fit."""

import re
from typing import Any

import pytest

from reporting.papers.bibliography import Bibliography, Publication, to_bibtex
from reporting.papers.layout import PaperWidth
from reporting.papers.tables import MAX_ROWS, to_latex
from reporting.report_table import Column, ReportTable

MAYR = Publication("mayr2026", "Martin Mayr, Sebastian Wind", "A & B", 2026, "https://a.example/1")
NO_SOURCES = Bibliography.from_publications([])
ENDS = {"": 0.5, "_low": 0.4, "_high": 0.6, "_n": 9}
"""What the keys of a value, its interval and its number add to a number."""
COLUMNS = (
    Column("line", "configuration"),
    Column("cap_w", "cap", "W", "count"),
    Column("rate", "throughput", "images/s", "number", interval=True, kinds=True),
    Column("gain_percent", "gain", "%", "signed", interval=True),
    *(
        Column(key, key, hidden=True)
        for key in ("doubt", "implausible", "withheld", "caution", "url")
    ),
)


def make_table(*rows: dict[str, Any], title: str = "A title", about: str = "") -> ReportTable:
    return ReportTable("t", title, COLUMNS, rows, about)


def write(
    table: ReportTable, width: PaperWidth = 252, bibliography: Bibliography = NO_SOURCES
) -> str:
    latex = to_latex(table, width, bibliography)
    assert latex is not None
    return latex


def make_interval(low: float, high: float) -> dict[str, Any]:
    return {"rate": 7465.11, "rate_low": low, "rate_high": high, "rate_n": 10}


def list_lines(latex: str) -> list[str]:
    """The lines of the rows."""
    body = latex.partition("\\midrule\n")[2].partition("\n\\bottomrule")[0]
    return body.splitlines()


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        (make_interval(7453.99, 7476.23), "7\\,465 $\\pm$\\,11"),
        (make_interval(7465.10, 7465.12), "7\\,465.110 $\\pm$\\,0.010"),
        (make_interval(7400.0, 7476.23), "7\\,465 {[}7\\,400, 7\\,476]"),
        ({"rate": 7465.11}, "7\\,465"),
        ({"rate": 4.3761, "rate_kind": "assumed"}, "$\\approx$\\,4.376"),
        ({**make_interval(7453.99, 7476.23), "doubt": "No."}, "(7\\,465 $\\pm$\\,11)"),
        (
            {"gain_percent": -3.0, "gain_percent_low": -4.5, "gain_percent_high": -1.5},
            "$-$3.0 $\\pm$\\,1.5",
        ),
    ],
)
def test_cell_has_value_and_half_width_to_the_same_place(row: dict[str, Any], cell: str) -> None:
    row = {"gain_percent_n": 4, **row}
    cells = list_lines(write(make_table({"line": "a", **row})))[-1].removesuffix(" \\\\")
    assert cell in cells.split(" & ")


def test_reason_of_a_row_is_a_note_below_the_table() -> None:
    latex = write(
        make_table(
            {"line": "a", "rate": 1.0},
            {"line": "b", "rate": 2.0, "doubt": "The cap of 200 W did not hold."},
            {"line": "c", "rate": 3.0, "caution": "Divide by four.", "withheld": "see the note"},
        )
    )
    assert list_lines(latex) == [
        "a & 1.000 \\\\",
        "b\\tnote{a} & (2.000) \\\\",
        "c\\tnote{b} & 3.000 \\\\",
    ]
    notes = latex.partition("\\begin{tablenotes}")[2].splitlines()[1:]
    assert "\\item[a] The cap of 200 W did not hold." in notes
    assert "\\item[b] Divide by four." in notes
    assert "see the note" not in latex
    assert any(note.startswith("\\item In parentheses: excluded") for note in notes)


def test_open_row_and_baseline_are_named() -> None:
    columns = (
        *COLUMNS,
        Column("gain_told", "verdict", hidden=True),
        Column("standing", "standing", hidden=True),
    )
    rows = (
        {"line": "a", "gain_percent": 0.0, "gain_told": "baseline", "standing": "closed"},
        {"line": "b", "gain_percent": 9.0, "gain_told": "higher", "standing": "open"},
    )
    latex = write(ReportTable("t", "A title", columns, rows))
    assert list_lines(latex) == ["a & baseline \\\\", "b\\tnote{a} & 9.00 \\\\"]
    assert "\\item[a] open: departs from the rules of the reference implementation" in latex


def test_setups_compared_have_both_setups_in_one_column_of_a_paper() -> None:
    ratios = ("energy_ratio", "throughput_ratio", "r", "r_log", "rho")
    columns = (
        Column("setup", "setup"),
        Column("other", "compared with"),
        Column("n", "models", form="count"),
        *(Column(name, name, form="number", interval=True) for name in ratios),
    )
    rows = tuple(
        {"setup": "H200 at 700 W, eager", "other": f"A100 PCIe 40GB, setup {n}", "n": n}
        | {f"{name}{end}": n + add for name in ratios for end, add in ENDS.items()}
        for n in (1, 2)
    )
    latex = write(ReportTable("image-inference-pairs", "Setups compared", columns, rows))
    assert "setup 1" in latex and "setup 2" in latex


def test_notes_explain_intervals_assumptions_and_the_table() -> None:
    latex = write(
        make_table(
            {"line": "a", **make_interval(7453.99, 7476.23)},
            {"line": "b", "rate": 4.0, "rate_kind": "assumed"},
            {"line": "c", "rate": 5.0, "rate_kind": "bound"},
            about="Each row is one run.",
        )
    )
    assert "half-width of the 95 \\% interval; in brackets: its ends; n = 10." in latex
    assert "\\item $\\approx$: based on an assumption" in latex
    assert "\\item $\\geq$: lower bound." in latex
    assert "\\item Each row is one run." in latex
    assert "In parentheses" not in latex


def test_column_of_equal_cells_becomes_a_note() -> None:
    latex = write(make_table(*({"line": name, "cap_w": 700, "rate": 1.0} for name in "ab")))
    assert list_lines(latex) == ["a \\\\", "b \\\\"]
    assert "\\item All rows: cap 700 W; throughput 1.000 images/s." in latex


def test_publication_is_cited_where_it_is_named() -> None:
    bibliography = Bibliography.from_publications([MAYR])
    table = make_table({"line": "Mayr et al. 2026 · H100"}, about="As Mayr et al. 2026 assume.")
    latex = write(table, bibliography=bibliography)
    assert list_lines(latex) == ["Mayr et al. 2026~\\cite{mayr2026} $\\cdot$ H100 \\\\"]
    assert "As Mayr et al. 2026~\\cite{mayr2026} assume." in latex


def test_source_of_a_row_is_cited() -> None:
    columns = (Column("node", "node"), Column("source", "source", form="evidence"))
    rows = ({"node": "8 H100", "source": "Mayr et al. 2026"},)
    bibliography = Bibliography.from_publications([MAYR])
    latex = write(ReportTable("nodes", "Nodes", columns, rows), bibliography=bibliography)
    assert list_lines(latex) == ["8 H100 & Mayr et al. 2026~\\cite{mayr2026} \\\\"]


def test_bibliography_holds_authors_title_year_and_link() -> None:
    assert to_bibtex(Bibliography.from_publications([MAYR])) == (
        "@misc{mayr2026,\n  author = {Martin Mayr and Sebastian Wind},\n  title = {{A \\& B}},\n"
        "  year = {2026},\n  howpublished = {\\url{https://a.example/1}},\n}\n\n"
    )


def test_publications_with_one_name_and_one_id_keep_apart() -> None:
    namesake = Publication("Mayr-2026", MAYR.authors, "Another", 2026, None)
    bibliography = Bibliography.from_publications([MAYR, namesake])
    assert list(bibliography.publications) == ["mayr2026", "mayr2026-1"]
    assert "\\cite{mayr2026,mayr2026-1}" in bibliography.add_citations("Mayr et al. 2026", 100, 8)


def test_long_name_of_several_rows_stands_above_them_once() -> None:
    name = "H200 SXM in a virtual machine (reference) · tuned bf16"
    latex = write(make_table(*({"line": name, "cap_w": cap, "rate": cap} for cap in (300, 400))))
    heading, *rows = list_lines(latex)
    assert heading.startswith("\\multicolumn{3}{@{}l}{\\makebox[0pt][l]{")
    assert rows == [" & 300 & 300.0 \\\\", " & 400 & 400.0 \\\\"]
    assert latex.count("reference") == 1


def test_long_names_in_no_order_stay_in_their_rows() -> None:
    names = [f"H200 SXM in a virtual machine (reference) · {n}" for n in (1, 2, 1, 2)]
    latex = write(make_table(*({"line": name, "rate": n} for n, name in enumerate(names, 1))))
    assert len(list_lines(latex)) == len(names) and "\\multicolumn" not in latex


def test_columns_without_room_are_named() -> None:
    keys = [f"k{n}" for n in range(20)]
    columns = tuple(Column(key, f"number {key}", "W", "number") for key in keys)
    rows = tuple(dict.fromkeys(keys, 10000.0 + n) for n in range(2))
    latex = write(ReportTable("wide", "Wide", columns, rows))
    (specification,) = re.findall(r"fill\}\}(r+)@", latex)
    assert 3 < len(specification) < 10
    (left_out,) = re.findall("% columns without room, which wide.csv has: (.*)", latex)
    assert len(specification) + len(left_out.split("; ")) == len(keys)
    assert "\\begin{table}" in latex
    assert "\\begin{table*}" in write(ReportTable("wide", "Wide", columns, rows), 516)


def test_narrow_table_takes_one_column_of_two() -> None:
    assert "\\begin{table}" in write(make_table({"line": "a", "rate": 1.0}), 516)


def test_high_table_is_split_into_floats_with_their_own_notes() -> None:
    rows = [{"line": f"run {n}", "rate": float(n)} for n in range(MAX_ROWS)]
    rows[0]["doubt"], rows[-1]["doubt"] = "first", "last"
    latex = write(make_table(*rows))
    floats = latex.split("\\end{table}")[:-1]
    assert len(floats) == 3 and len(re.findall("run [0-9]", latex)) == MAX_ROWS
    assert ["\\item[a] first" in part for part in floats] == [True, False, False]
    assert ["\\item[b] last" in part for part in floats] == [False, False, True]
    assert "(part 2 of 3)" in floats[1] and "\\label{tab:t-2}" in floats[1]


@pytest.mark.parametrize("count", [0, MAX_ROWS + 1])
def test_table_without_rows_or_of_a_trace_has_no_latex(count: int) -> None:
    assert to_latex(make_table(*({"line": str(n)} for n in range(count))), 252, NO_SOURCES) is None
