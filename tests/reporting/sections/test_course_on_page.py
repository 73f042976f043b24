"""The course of a run on the page: which run it is of, how long its table is, and its charts."""

from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.report.report_runs import make_run_at_cap, on_one

from reporting.charts import build_charts
from reporting.collect import collect
from reporting.page import build_page
from reporting.page_model import PageModel
from reporting.quantities import NODE_SCOPE, SCOPE
from reporting.report_table import ReportTable
from reporting.sections.course import MAX_PAGE_STEPS
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


def build(
    submissions: Submissions, *runs: EvidenceFrames, metered: EvidenceFrames | None = None
) -> PageModel:
    """The page of some runs, of which one has a node meter."""
    for number, run in enumerate(runs):
        make_other_run(run, number)
        if run is metered:
            add_node_power(run)
        rederive(run)
        submissions.add(run, f"bundle-number-{number}")
    return build_page(collect([submissions.root], local=True), Path("report.html"))


def list_courses(page: PageModel) -> list[ReportTable]:
    return [table for table in page.tables if "-course-" in table.id]


def test_run_with_a_node_meter_is_shown_before_a_faster_one(submissions: Submissions) -> None:
    slow = make_run_at_cap(500, 0.9)
    (table,) = list_courses(build(submissions, copy_evidence(), slow, metered=slow))
    assert table.title == "Course of the run, bundle-number-1"
    lines = {row["line"] for row in table.rows}
    assert lines == {"node", "all boards", "board 0", "board 1"}
    assert len(table.rows) == MAX_PAGE_STEPS * len(lines)
    assert {row["scope"] for row in table.rows} == {NODE_SCOPE}
    assert {row["cap_w"] for row in table.rows} == {500}
    charts = build_charts(table)
    assert [chart.title for chart in charts] == [
        "Power of node and its boards",
        "Power of each board",
        "Utilisation of each board",
    ]


def test_without_a_node_meter_the_fastest_run_on_several_boards_is_shown(
    submissions: Submissions,
) -> None:
    slow = make_run_at_cap(500, 0.9)
    (table,) = list_courses(build(submissions, slow, copy_evidence()))
    assert table.title == "Course of the run, bundle-number-1"
    assert {row["line"] for row in table.rows} == {"all boards", "board 0", "board 1"}
    assert {row["scope"] for row in table.rows} == {SCOPE}
    assert build_charts(table)[0].title == "Power of all boards"


@pytest.mark.parametrize("standing", ["closed", "demo"])
def test_runs_on_one_board_have_their_trace_only(submissions: Submissions, standing: str) -> None:
    run = on_one(make_run_at_cap(700, 1.0, standing=standing))
    page = build(submissions, run)
    assert list_courses(page) == []
    assert [table.id for table in page.tables if "-trace-" in table.id]
