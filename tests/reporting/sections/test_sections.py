"""Each table of the page has a section, and a file with a section is all that a new table needs."""

import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.committed_runs import SUBMISSIONS

from reporting import sections
from reporting.charts import build_charts
from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.papers.columns import list_paper_columns
from reporting.sections import find_section, list_sections
from reporting.sentences.charts import describe_charts

NEW_TABLE = """
from reporting.report_table import Column, ReportTable
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns

COLUMNS = (Column("line", "line"), Column("runs", "runs", "", "count"))


def build_new_table(rows):
    return ReportTable("new-table", "New", COLUMNS, ({"line": "all", "runs": len(rows)},))


SECTION = Section(
    name="new-table",
    place=111,
    build=lambda page: [build_new_table(page.rows)],
    is_across=True,
    charts={"count": ShownColumns(("runs",), find=lambda rows: f"{len(rows)} rows")},
    paper_keys=("runs",),
)
"""


@pytest.fixture(scope="module")
def page() -> PageModel:
    return build_page_model(collect([SUBMISSIONS]), Path.as_posix)


@pytest.fixture
def new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "new_table.py").write_text(NEW_TABLE)
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    clear_caches()
    yield
    clear_caches()


def clear_caches() -> None:
    list_sections.cache_clear()
    sections._index_by_name.cache_clear()


def test_names_and_places_are_unique() -> None:
    names = [name for s in list_sections() for name in (s.name, *s.other_names)]
    places = [(s.build_of_workload is None, s.place) for s in list_sections()]
    demo_places = [s.demo_place for s in list_sections() if s.demo_place is not None]
    for values in (names, places, demo_places):
        assert max(Counter(values).values()) == 1


def test_every_table_of_the_page_has_a_section_and_an_id_of_its_own(page: PageModel) -> None:
    ids = [table.id for table in page.tables]
    assert len(set(ids)) == len(ids) > 40
    sections_by_id = {table.id: s for table in page.tables if (s := find_section(table))}
    # The section of an axis builds three tables and describes the first.
    assert all(id.endswith("-boards") for id in ids if id not in sections_by_id)
    for table in (*page.first_tables, *page.later_tables):
        assert sections_by_id[table.id].build, table.id
    for part in page.sections:
        for id in (table.id for table in (*part.tables, *part.demo)):
            assert id not in sections_by_id or sections_by_id[id].build_of_workload, id


@pytest.mark.parametrize("name", [name for s in list_sections() for name in s.drawn_by])
def test_charts_are_drawn_by_functions(name: str) -> None:
    module, _, function = name.rpartition(".")
    assert callable(getattr(importlib.import_module(f"reporting.charts.{module}"), function))


@pytest.mark.usefixtures("new_file")
def test_a_table_is_added_by_a_file() -> None:
    page = build_page_model(collect([SUBMISSIONS / "published"]), Path.as_posix)
    ids = [table.id for table in page.later_tables]
    assert ids.index("new-table") < ids.index("fixed-work")
    assert "new-table" in [table.id for table in page.across]
    table = page.find("new-table")
    assert [column.key for column in list_paper_columns(table)] == ["runs"]
    (text,) = describe_charts([table], {})["new-table"].values()
    assert text.title == "0 rows"
    assert build_charts(table) == []
