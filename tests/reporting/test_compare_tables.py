"""The tables that compare results: which rows they compare, and what they say of a difference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.result_rows import make_run_row

from reporting.report_table import TableRow
from reporting.results_model import ResultRow
from reporting.sections.compare import build_best_table, build_compare_table, build_tuned_table
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
RATE = "items_per_s_per_accelerator"


def build_rows(build: Any, rows: Sequence[ResultRow]) -> Sequence[TableRow]:
    table = build(RESNET, rows, Path.as_posix, "table")
    return () if table is None else table.rows


def test_small_difference_counts_only_on_the_same_boards() -> None:
    fast, slow_there, slow_elsewhere = (
        make_run_row(1000, "board-a"),
        make_run_row(980, "board-a"),
        make_run_row(979, "board-b"),
    )
    rows = build_rows(build_compare_table, [slow_elsewhere, fast, slow_there])
    assert [(row["rate_told"], row["joules_told"]) for row in rows] == [
        ("baseline", "baseline"),
        ("lower", "higher"),
        ("within board spread", "within board spread"),
    ]


def test_best_result_is_compared_with_the_second_on_its_boards() -> None:
    for boards, comparison in ((("a", "a"), "higher"), (("a", "b"), "within board spread")):
        rows = build_rows(
            build_best_table,
            [make_run_row(rate, board) for rate, board in zip((1000, 980), boards, strict=True)],
        )
        assert [(row["by"], row["told"]) for row in rows] == [
            ("throughput", comparison),
            ("efficiency", comparison),
        ]
    alone = build_rows(build_best_table, [make_run_row(1000, "a")])
    assert {row["told"] for row in alone} == {"only result"}


def test_fastest_repeat_stands_for_its_variant() -> None:
    baselines = [make_run_row(rate, "a", variant="baseline") for rate in (300, 310, 305)]
    tuned = [make_run_row(rate, "a") for rate in (1000, 1020, 1010)]
    for rows in ([*baselines, *tuned], [*tuned[::-1], *baselines[::-1]]):
        (row,) = build_rows(build_tuned_table, rows)
        assert (row[RATE], row["baseline_rate"]) == (1020, 310)


def test_tuned_run_is_compared_with_the_baseline_at_its_cap() -> None:
    rows = [
        make_run_row(rate, "a", variant=variant, cap_w=cap_w)
        for variant, cap_w, rate in (
            ("baseline", 500.0, 280),
            ("baseline", 700.0, 300),
            ("tuned", 500.0, 900),
            ("tuned", 700.0, 1000),
            ("tuned", 400.0, 800),
        )
    ]
    compared = [
        (row["cap_w"], row[RATE], row["baseline_rate"])
        for row in build_rows(build_tuned_table, rows)
    ]
    assert compared == [(500, 900, 280), (700, 1000, 300)]


def test_run_that_is_not_comparable_is_neither_tuned_nor_baseline() -> None:
    baseline, tuned = make_run_row(300, "a", variant="baseline"), make_run_row(1000, "a")
    loose = {"cap_enforced": False}
    rows = [
        baseline,
        tuned,
        make_run_row(400, "a", variant="baseline", **loose),
        make_run_row(1200, "a", **loose),
        make_run_row(2000, "a", implausible="exceeds the peak"),
        make_run_row(3000, "a", provenance=None, standing="published"),
    ]
    (row,) = build_rows(build_tuned_table, rows)
    assert (row[RATE], row["baseline_rate"]) == (1000, 300)
    assert build_rows(build_tuned_table, rows[2:4]) == ()
