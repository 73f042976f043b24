"""Which results the report names as winners, ranks, and takes as a baseline."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row

from reporting.report_table import TableRow
from reporting.results_model import ResultRow, name_centers
from reporting.sections.best import build_best_table
from reporting.sections.compare import build_compare_table
from reporting.sections.overview import build_workloads_table, group_by_system
from reporting.sections.planning import build_what_if_table
from reporting.sections.repeats import NO_REPEATS
from reporting.sections.sweeps.points import make_point_cells
from rules.finding import Finding, Severity
from rules.metrics.sweeps.points import Point
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")


def make_published_row(rate: float, comparison: str = "level", **fields: Any) -> ResultRow:
    return make_run_row(
        rate,
        standing="published",
        provenance=None,
        variant=None,
        precision=None,
        comparison=comparison,
        **{"system": "Paper 2026", "caution": "Do not compare."} | fields,
    )


def make_reviewed_row(row: ResultRow, **fields: Any) -> ResultRow:
    """The row with other trust in its bundle."""
    assert row.provenance is not None
    return replace(row, provenance=replace(row.provenance, **fields))


def list_winners(rows: Sequence[ResultRow]) -> dict[str, tuple[object, object]]:
    """The fastest and the most efficient result of each standing."""
    return {
        str(row["standing"]): (row.get("fastest_rate"), row.get("efficient_per_joule"))
        for row in build_workloads_table(rows, NO_REPEATS).rows
    }


def list_results(table: Any) -> list[TableRow]:
    return [] if table is None else list(table.rows)


def test_published_row_that_must_not_be_compared_wins_and_ranks_nowhere() -> None:
    for comparison in ("none", "shape"):
        rows = [make_published_row(9000, comparison), make_published_row(1000, model="H100")]
        assert list_winners(rows) == {"published": (1000, pytest.approx(1000 / 700))}
        assert [row["model"] for row in list_results(build_what_if_table(rows, str))] == ["H100"]
        best = list_results(build_best_table(RESNET, rows, Path.as_posix, "best"))
        assert {row["model"] for row in best} == {"H100"}
        assert not list_results(build_compare_table(RESNET, rows, Path.as_posix, "compare"))
        assert rows[0].comparable == (comparison == "shape")
        assert rows[0].withheld is not None and "see the note" in rows[0].withheld


def test_run_without_energy_is_not_the_most_efficient() -> None:
    silent = make_run_row(2000, "b", batch_size=64, joules_per_item=None, items_per_joule=None)
    (row,) = build_workloads_table([silent], NO_REPEATS).rows
    assert (row["fastest_rate"], row["efficient"]) == (2000, None)
    row_and_silent = list_winners([make_run_row(1000, "a"), silent])
    assert row_and_silent == {"closed": (2000, pytest.approx(1000 / 700))}


def test_closed_open_and_published_results_have_winners_of_their_own() -> None:
    rows = [
        make_run_row(1000, "a"),
        make_run_row(3000, "b", standing="open", precision="fp8"),
        make_published_row(5000),
    ]
    assert {standing: rate for standing, (rate, _) in list_winners(rows).items()} == {
        "closed": 1000,
        "open": 3000,
        "published": 5000,
    }
    assert [row["rank"] for row in list_results(build_what_if_table(rows, str))] == [1, 1, 1]


def test_unusual_result_wins_only_after_a_review() -> None:
    usual = make_run_row(1000, "a")
    unusual = make_reviewed_row(make_run_row(2000, "b", batch_size=1), bars=(UNUSUAL,))
    assert list_winners([usual, unusual])["closed"][0] == 1000
    assert unusual.withheld == "not reviewed yet (X114): 2000 images/s"
    # The verdict has no such findings once the bundle is reviewed.
    assert list_winners([usual, make_reviewed_row(unusual, bars=())])["closed"][0] == 2000


def test_reproduction_supports_its_original_and_wins_nothing() -> None:
    original = make_run_row(1000, "a")
    reproduction = make_reviewed_row(make_run_row(1010, "b"), original="reference/h200/run")
    assert list_winners([original, reproduction])["closed"][0] == 1000
    assert reproduction.withheld == "reproduces reference/h200/run, and is no result of its own"


def test_winners_show_how_far_others_confirm_them() -> None:
    row = make_run_row(1000, "a")
    confirmed = make_reviewed_row(
        row, reviewers=("zoe@b", "bob@c"), accepted="1.5.0", reproducers=("nhr",)
    )
    trust = [
        build_workloads_table([winner], NO_REPEATS).rows[0]["fastest_trust"]
        for winner in (row, confirmed)
    ]
    assert trust == [
        "not reviewed, not accepted, not reproduced",
        "reviewed by 2, accepted, reproduced by 1",
    ]


def rank_rates(rows: Sequence[ResultRow]) -> dict[object, object]:
    return {
        row["items_per_s_per_accelerator"]: row["rank"]
        for row in list_results(build_what_if_table(rows, Path.as_posix))
    }


def test_results_that_are_not_told_apart_share_a_rank() -> None:
    """Single runs differ from 4.5 % below the first of a rank on: exp(-2.145 x sqrt(2) x 1.5 %)."""
    rates = (1000, 990, 957, 950, 900)
    rows = [make_run_row(rate, f"board{rate}", batch_size=rate) for rate in rates]
    assert rank_rates(rows) == {1000: 1, 990: 1, 957: 1, 950: 4, 900: 5}


def test_published_results_share_a_rank_only_if_they_are_equal() -> None:
    rows = [make_published_row(rate, model=f"board{rate}") for rate in (1000, 999.9)]
    assert rank_rates(rows) == {1000: 1, 999.9: 2}
    twins = [make_published_row(1000, system=system) for system in ("A 2026", "B 2026")]
    ranked = list_results(build_what_if_table([*rows, *twins], str))
    assert [row["rank"] for row in ranked] == [1, 1, 1, 4]


def test_difference_in_energy_alone_is_no_tie() -> None:
    energies = {"frugal": make_figure(0.6), "hungry": make_figure(0.7)}
    published = [
        make_published_row(1000, model=name, joules_per_item=joules)
        for name, joules in energies.items()
    ]
    measured = [
        make_run_row(1000, name, model=name, joules_per_item=joules)
        for name, joules in energies.items()
    ]
    for rows in (published, measured):
        ranked = list_results(build_what_if_table(rows, Path.as_posix))
        assert [(row["model"], row["rank"]) for row in ranked] == [("frugal", 1), ("hungry", 2)]


def test_repeats_of_a_setting_are_one_ranked_row_with_their_mean() -> None:
    rows = [make_run_row(rate, board) for board, rate in (("a", 1000), ("b", 1100))]
    (row,) = list_results(build_what_if_table(rows, Path.as_posix))
    assert (row["rank"], row["items_per_s_per_accelerator"]) == (1, 1050)
    assert row["joules_per_item"] == pytest.approx((0.7 + 700 / 1100) / 2)
    assert (row["evidence"], row["bundle"]) == ("2 runs", "submissions/a submissions/b")


def test_systems_of_one_name_are_apart_by_center() -> None:
    rows = name_centers(
        [
            make_run_row(1000, "a", center="alpha"),
            make_run_row(900, "b", center="beta"),
            make_run_row(800, "c", center="beta", system="other"),
        ]
    )
    assert [row.system for row in rows] == ["node (alpha)", "node (beta)", "other"]
    assert [(name, len(group)) for name, group in group_by_system(rows)] == [
        ("node (alpha)", 1),
        ("node (beta)", 1),
        ("other", 1),
    ]


@pytest.mark.parametrize("name", ["Node", "\uff4eode", "node\u00a0", "node (alpha)"])
def test_system_whose_name_looks_like_that_of_another_center_names_its_center(name: str) -> None:
    honest = make_run_row(1000, "a", center="alpha")
    disguised = make_run_row(1100, "b", center="beta", system=name)
    assert name_centers([honest, disguised])[1].system == f"{name} (beta)"


def test_point_of_a_sweep_shows_why_its_run_wins_nothing() -> None:
    run = make_run_row(1000, "a", mean_power_w=make_figure(700))
    barred = make_reviewed_row(run, bars=(UNUSUAL,))
    for row, reason in ((run, None), (barred, "not reviewed yet (X114): 2000 images/s")):
        point = Point(700, 1000, 0.7, True)
        assert make_point_cells(point, [row], Path.as_posix)["withheld"] == reason
