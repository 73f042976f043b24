"""A table says the same on the page, in its downloads and in its charts, and its numbers are those
of the rules."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.report.html import (
    Element,
    Tree,
    list_table_ids,
    read_embedded,
    read_lines,
    read_tables,
)

from reporting.charts import build_charts
from reporting.papers.bibliography import Bibliography
from reporting.papers.tables import MAX_ROWS, to_latex
from reporting.report_table import (
    Column,
    ReportTable,
    find_doubt,
    format_interval,
    format_value,
    to_csv,
    to_markdown,
)
from reporting.sections.cells import FACET_COLUMNS
from rules.metrics import comparison

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
SUBMISSIONS = Path(__file__).parents[2] / "submissions"
PIXELS = re.compile(r'"(?:dx|dy|from_x|from_y|to_x|to_y)": -?[\d.]+')
"""Places of labels in the spec of a chart."""
RATE, JOULES, PER_JOULE = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"


@pytest.fixture(scope="module")
def page(whole_report: Path) -> Element:
    return Tree((whole_report / "report.html").read_text(encoding="utf-8")).open[0]


def test_relative_figures_are_those_of_the_rules(page: Element) -> None:
    for table in read_tables(page):
        if not table.id.endswith("-compare"):
            continue
        by_name = {row["result"]: row for row in table.rows}
        for row in table.rows:
            base = by_name[row["against"]]
            assert row["like"] == base["like"], "only like is compared with like"
            group = [other for other in table.rows if other["like"] == row["like"]]
            for short, key in (("rate", RATE), ("joules", JOULES)):
                told, percent = row[f"{short}_told"], row[f"{short}_percent"]
                if len(group) == 1:
                    assert (told, percent) == ("only one of its group", None)
                    continue
                own, other = float(row[key] or 0), float(base[key] or 0)
                # On shared boards, the change is that of these boards alone.
                if row["shared_boards"] is None:
                    assert percent == pytest.approx(
                        comparison.relative_percent(own, other), abs=1e-6
                    )
                if row is base:
                    assert (told, percent) == ("baseline", 0)
                elif row["runs"] is None:
                    assert told == "no interval"
                else:
                    sign = "higher" if float(percent or 0) > 0 else "lower"
                    assert told in (sign, "not told apart")


def test_rows_of_results_have_the_facets_of_the_control_bar(page: Element) -> None:
    facets = {column.key for column in FACET_COLUMNS if not column.optional}
    # A sweep has several caps, and a row of servers has closed and open runs.
    absent_by_suffix = {"peaks": {"cap_w"}, "tokens": {"standing", "cap_w"}}
    results = []
    for table in read_tables(page):
        suffix = table.id.rpartition("-")[2]
        if "bundle" in table.keys or suffix in absent_by_suffix:
            assert facets - set(table.keys) == absent_by_suffix.get(suffix, set()), table.id
        results += table.rows if suffix == "results" else ()
    assert {row["provenance"] for row in results} == {"measured", "published"}
    for row in results:
        is_published = row["bundle"] is None
        assert (row["provenance"] == "published") == is_published
        assert (row["standing"] == "published") == is_published
        assert (row["variant"] is None) == (row["count"] is None) == is_published


def test_cells_are_the_values_as_the_table_says_them(page: Element) -> None:
    checked = 0
    for table in read_tables(page):
        for line, row in zip(read_lines(page, table.id), table.rows, strict=True):
            for column in table.columns:
                if column.hidden or column.form in ("evidence", "findings"):
                    continue
                shown = format_value(column, row) or "\u2013"
                loose = row[column.key] is not None and find_doubt(column, row)
                assert line.text(column.key) == (f"({shown})" if loose else shown)
                small, between = (
                    [s.text for s in line.cells[column.key].find("small")],
                    format_interval(column, row),
                )
                note = [row[column.note_key]] if row.get(column.note_key) else []
                ends = [between.partition(",")[0]] if between else []
                assert small in ([between, *note], [*ends, *note])
                checked += 1
    assert checked > 3000


def test_chart_holds_the_rows_and_titles_of_its_table(page: Element) -> None:
    by_id = {table.id: table for table in read_tables(page)}
    drawn = {figure.attributes["id"]: figure for figure in page.find("figure", class_="chart")}
    specs = read_embedded(page, "charts")
    assert specs.keys() == drawn.keys()
    built = {chart.id: chart for table in by_id.values() for chart in build_charts(table)}
    for id, figure in drawn.items():
        table = by_id[figure.attributes["data-table"]]
        spec_text = PIXELS.sub("", json.dumps(specs[id]))
        assert f'"{table.id}"' in spec_text, "its data is that of the table"
        chart = built[id]
        assert chart.table.id == table.id
        title, plot = next(figure.find("h3")).text, next(figure.find("div", class_="plot"))
        # A generated title states the finding, with which the alternative text begins.
        alt = str(plot.attributes["aria-label"])
        assert title == chart.title or alt.startswith(f"{title}. ")
        for row in table.rows:
            for key in (RATE, JOULES, "median_w"):
                if isinstance(row.get(key), float) and row[key] not in (0, 1):
                    assert f"{row[key]}" not in spec_text, "a spec holds no number of its own"


def said(value: object) -> str:
    """A value as CSV has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_files_of_tables_hold_what_the_page_holds(page: Element, whole_report: Path) -> None:
    directory = whole_report / "tables"
    # test_study_page.py and test_trends_page.py test the files of the other pages.
    paths = [p for p in directory.iterdir() if not p.name.startswith(("image-inference", "trends"))]
    assert sorted(p.stem for p in paths if p.suffix == ".csv") == sorted(list_table_ids(page))
    for table in read_tables(page):
        with (directory / f"{table.id}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert tuple(head) == table.keys
        assert rows == [[said(value) for value in row.values()] for row in table.rows]
    everything = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    assert everything["tables"] == read_embedded(page, "tables")
    table_files = {(table.id, suffix) for table in read_tables(page) for suffix in (".csv", ".md")}
    # A table without rows, and one of a trace, has no LaTeX.
    table_files |= {(t.id, ".tex") for t in read_tables(page) if 0 < len(t.rows) <= MAX_ROWS}
    others = {("report", ".json"), ("wattmark", ".bib"), ("example", ".tex")}
    assert {(p.stem, p.suffix) for p in paths} == table_files | others


def test_markdown_tables_have_the_cells_of_the_page_in_every_row(
    page: Element, whole_report: Path
) -> None:
    for table in read_tables(page):
        md = (whole_report / "tables" / f"{table.id}.md").read_text(encoding="utf-8")
        shown = [
            c for c in table.columns if not c.hidden and c.form not in ("evidence", "findings")
        ]
        lined = [re.split(r"(?<!\\)\|", line)[1:-1] for line in md.splitlines()[2:]]
        assert {len(row) for row in lined} == {len(shown)} and len(lined) == len(table.rows) + 2
        for line, row in zip(read_lines(page, table.id), lined[2:], strict=True):
            own = [line.text(c.key) if line[c.key] is not None else "" for c in shown]
            assert [re.sub(r"\\(.)", r"\1", cell).strip() for cell in row] == [
                " ".join(cell.split()) for cell in own
            ]


def table(**row: Any) -> ReportTable:
    columns = (
        Column("name", "name"),
        Column("power_w", "power", "W", "number", kinds=True),
        Column("rate", "rate", "images/s", "number", interval=True, kinds=True),
        Column("gain_percent", "gain", "%", "signed"),
        Column("doubt", "doubt", hidden=True),
    )
    return ReportTable("t", "A & B_1", columns, (row,))


@pytest.mark.parametrize(
    ("row", "key", "said"),
    [
        ({"rate": 7444.5}, "rate", "7\u202f444"),
        ({"rate": 259.0, "rate_kind": "printed"}, "rate", "259"),
        ({"rate": 34107.2, "rate_kind": "printed"}, "rate", "34\u202f107.2"),
        ({"rate": 0.25, "rate_kind": "assumed"}, "rate", "≈\u202f0.2500"),
        ({"rate": 166.09, "rate_kind": "bound"}, "rate", "≥\u202f166"),
        ({"gain_percent": -3.456}, "gain_percent", "\u22123.46"),
        ({"gain_percent": -0.001}, "gain_percent", "0.00"),
        ({"rate": None}, "rate", ""),
        ({"name": "x"}, "name", "x"),
    ],
)
def test_text_of_a_cell(row: dict[str, Any], key: str, said: str) -> None:
    made = table(**row)
    assert format_value(made.get_column(key), made.rows[0]) == said


def test_csv_keeps_figures_and_disarms_formulas() -> None:
    made = to_csv(table(name="=cmd()", rate=1 / 3, rate_low=0.3, rate_high=float("nan"), rate_n=10))
    assert (
        made == "name,power_w,power_w_kind,rate,rate_low,rate_high,rate_n,rate_kind,"
        "gain_percent,doubt\r\n" + ("'=cmd(),,,0.3333333333,0.3,,10,,,\r\n")
    )


def test_tables_for_papers_escape_what_strangers_wrote() -> None:
    made = table(
        name="*a|b_\\end{x}%\n\n<&$[", rate=2.0, power_w=3.0, doubt="The cap did not hold."
    )
    assert (
        to_markdown(made).splitlines()[-1]
        == "| \\*a\\|b\\_\\\\end{x}% \\<\\&\\$\\[ | 3.000 | (2.000) |  |"
    )
    latex = to_latex(made, 516, Bibliography.from_publications([]))
    name = "{*}a\\textbar{}b\\_\\textbackslash{}end\\textbraceleft{}x\\textbraceright{}\\%"
    name += " \\textless{}\\&\\${[}"
    assert latex is not None and f"\n{name}\\tnote{{a}} & 3.000 & (2.000) \\\\\n" in latex
    assert "\\caption{A \\& B\\_1}" in latex


def test_row_with_a_key_of_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="rates"):
        table(rates=1)


def test_guide_answers_five_questions_as_the_page_does(page: Element) -> None:
    guide = (SUBMISSIONS.parent / "docs/reading-a-report.md").read_text(encoding="utf-8")
    best = {
        line["standing"]: line
        for line in read_lines(page, "workloads")
        if line["workload"] == "resnet50-train"
    }
    efficient, published = (
        best[standing].text("efficient_per_joule").replace("\u202f", " ")
        for standing in ("closed", "published")
    )
    assert f"closed: {efficient} images/J at 700 W" in guide
    assert best["closed"]["efficient"].endswith("700 W")
    assert f"published: {published} at 300 W on H100" in guide
    assert best["published"]["efficient"].endswith("H100 · 300 W")
    vit = {line["result"]: line for line in read_lines(page, "vitl16-train-compare")}
    slower = vit["Mayr et al. 2026 · H200 · 400 W"]
    assert (
        slower["against"] == "Mayr et al. 2026 · H200 · 700 W"
        and slower["rate_told"] == "no interval"
    )
    assert f"throughput is {slower.text('rate_percent').removeprefix(chr(0x2212))} % lower" in guide
    results = [table for table in read_tables(page) if table.id.endswith("-results")]
    rows = [row for table in results for row in table.rows]
    assert {(row["model"], row["cap_w"]) for row in rows if row["doubt"]} == {
        ("MI300X", 200),
        ("MI300X", 300),
    }
    above_peak = {table.id for table in results for row in table.rows if row["implausible"]}
    assert above_peak == {"llama3-8b-pretrain-results"}
    assert "published rows of LLaMA pre-training: above the peak of the board" in guide
    moved = [(row["line"], row["cap_w"]) for row in rows if row["peak"] != row["peak_node"]]
    assert moved == [("Mayr et al. 2026 · MI300X", 400), ("Mayr et al. 2026 · MI300X", 500)]
    assert "one peak moves: Stable Diffusion v2 on MI300X, from 400 to 500 W" in guide
    (h100,) = [
        row for row in rows if row["line"] == "Mayr et al. 2026 · H100" and row[RATE] == 1312.8
    ]
    assert (
        f"{h100[PER_JOULE]} to {h100['node_items_per_joule_assumed']:.3f} images/J on H100 at 300 W"
        in guide
    )
