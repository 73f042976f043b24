"""The table of the results that are excluded from rankings."""

from dataclasses import replace
from typing import Any

import pytest
from support.committed_runs import SUBMISSIONS
from support.report.result_rows import make_run_row
from support.report.row_chart_tables import LINK, withhold
from support.report.sentence_rows import make_printed_row

from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import TableRow
from reporting.results_model import ResultRow
from reporting.sections.overview import build_excluded_table
from rules.finding import Finding, Severity

UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")


def list_excluded(*rows: ResultRow) -> list[TableRow]:
    table = build_excluded_table(rows, LINK)
    return list(table.rows) if table else []


def add_provenance(row: ResultRow, **fields: Any) -> ResultRow:
    assert row.provenance is not None
    return replace(row, provenance=replace(row.provenance, **fields))


@pytest.mark.parametrize("standing", ["closed", "open"])
@pytest.mark.parametrize(
    ("fields", "trust", "reason"),
    [
        (
            {"cap_enforced": False, "exceeding_power_w": 712.34},
            {},
            "The cap of 700 W did not hold: mean power was 712.3 W.",
        ),
        ({"implausible": "exceeds the peak"}, {}, "exceeds the peak"),
        ({}, {"original": "a/b/c"}, "reproduces a/b/c, and is no result of its own"),
        ({}, {"newer": "a/b/c"}, "older recipe of the implementation than a/b/c"),
        ({}, {"bars": (UNUSUAL,)}, "not reviewed yet (X114): 2000 images/s"),
    ],
)
def test_measured_result_that_may_not_win_is_listed_with_its_reason(
    standing: str, fields: dict[str, Any], trust: dict[str, Any], reason: str
) -> None:
    row = add_provenance(
        make_run_row(1000, "a", standing=standing, batch_size=256, **fields), **trust
    )
    (excluded,) = list_excluded(make_run_row(900, "b", standing=standing), row)
    shown = ("workload", "line", "batch", "cap_w", "standing", "reason", "bundle")
    assert [excluded[key] for key in shown] == [
        "resnet50-train",
        "node · tuned bf16",
        256,
        700,
        standing,
        reason,
        "submissions/a",
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"comparison": "none", "caution": "Divide by four."}, "not compared: see the note on"),
        ({"comparison": "shape", "caution": "Sum."}, "only the shape of the series is compared"),
        ({"implausible": "exceeds the peak"}, "exceeds the peak"),
        ({"cap_enforced": False}, "The cap of 700 W did not hold."),
    ],
)
def test_published_figure_that_may_not_win_is_listed_with_its_reason(
    fields: dict[str, Any], reason: str
) -> None:
    (excluded,) = list_excluded(make_printed_row(700, 1000, **fields), make_printed_row(400, 900))
    assert excluded["standing"] == "published"
    assert str(excluded["reason"]).startswith(reason)


def test_compared_results_and_runs_that_are_never_results_are_not_listed() -> None:
    rows = [
        make_run_row(1000, "a"),
        make_run_row(1000, "a", standing="open"),
        make_printed_row(700, 1000, caution="A note that forbids nothing."),
        make_run_row(1000, "a", standing="control"),
        make_run_row(1000, "a", standing="demo", cap_enforced=False),
    ]
    assert build_excluded_table(rows, LINK) is None
    assert len(list_excluded(*rows, withhold(rows[0]))) == 1


def test_excluded_results_of_the_round_are_all_listed_with_a_reason() -> None:
    page = build_page_model(collect([SUBMISSIONS]), LINK)
    excluded, winners = page.find("excluded"), page.find("workloads")
    counts = [row["excluded"] for row in winners.rows]
    assert len(excluded.rows) == sum(int(str(count)) for count in counts) > 0
    assert len(excluded.rows) == page.sentences.trust.not_comparable
    for row in excluded.rows:
        assert row["standing"] in ("closed", "open", "published")
        assert row["reason"] and row["line"]
        assert row["bundle"] if row["standing"] != "published" else row["url"]
