"""The list of the figures of the papers: each chart and each table that it names exists."""

import re
from pathlib import Path

import pytest
from support.report.html import Tree

ROOT = Path(__file__).parents[3]
LIST = ROOT / "submissions/published/README.md"
REDRAWN = ("from own data", "from published data", "cannot be, because")


def list_rows() -> list[tuple[str, str, str]]:
    _, _, text = LIST.read_text(encoding="utf-8").partition(
        "\n## Figures and tables of the papers\n"
    )
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    heads = [row for row in cells if row[0] == "in the paper"]
    assert len(heads) == 5, "one table for each paper"
    return [(row[0], row[1], row[2]) for row in cells if row not in heads]


def test_each_figure_says_how_it_is_redrawn() -> None:
    rows = list_rows()
    assert len(rows) > 40
    for name, redrawn, where in rows:
        assert redrawn in REDRAWN, name
        has_place = re.search(r"\b(chart|table|ranking)", where) or "docs/" in where
        assert where and (redrawn == REDRAWN[2] or has_place), name
    assert len({row[0] for row in rows}) > 0.8 * len(rows)


@pytest.mark.xdist_group("whole-report")  # one test process builds it, once
def test_charts_and_tables_of_the_list_exist(whole_report: Path) -> None:
    figures = {path.stem for path in (whole_report / "figures").glob("*.svg")}
    tables = {path.stem for path in (whole_report / "tables").glob("*.csv")}
    on_pages = {
        figure.attributes.get("id", "")
        for page in whole_report.glob("*.html")
        for figure in Tree(page.read_text(encoding="utf-8")).open[0].find("figure")
    }
    named = {
        id
        for _, _, where in list_rows()
        for id in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+|boards|rack)`", where)
    }
    assert len(named) > 50
    assert named - figures - tables - on_pages == set()
