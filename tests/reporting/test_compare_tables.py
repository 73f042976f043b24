"""The tables that compare results: which rows they compare, and what they say of a difference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.report.result_rows import make_figure, make_run_row

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


def test_results_are_compared_within_precision_count_and_standing() -> None:
    rows = [
        make_run_row(1000, "a"),
        make_run_row(900, "a"),
        make_run_row(2000, "a", precision="fp8"),
        make_run_row(1800, "a", precision="fp8"),
        make_run_row(950, "a", "b"),
        make_run_row(5000, "c", standing="demo"),
        make_run_row(800, "a", standing="open"),
        make_run_row(700, "a", standing="published", provenance=None),
        make_run_row(9000, "a", cap_enforced=False),
        make_run_row(9000, "a", implausible="exceeds the peak"),
    ]
    groups: dict[object, list[object]] = {}
    for row in build_rows(build_compare_table, rows):
        groups.setdefault(row["like"], []).append(row[RATE])
    assert groups == {
        "demo, bf16, 1 \u00d7": [5000],
        "closed, fp8, 1 \u00d7": [2000, 1800],
        "closed, bf16, 1 \u00d7": [1000, 900],
        "open, bf16, 1 \u00d7": [800],
        "closed, bf16, 2 \u00d7": [950],
        "published, precision unknown": [700],
    }
    assert next(iter(groups)) == "demo, bf16, 1 \u00d7", "the fastest group is first"
    assert list(groups)[-1] == "published, precision unknown"


def test_comparison_needs_two_results_of_one_group_and_numbers_repeats() -> None:
    first, second = make_run_row(1000, "a"), make_run_row(900, "a")
    assert build_rows(build_compare_table, [first, make_run_row(900, "a", precision="fp8")]) == ()
    rows = build_rows(build_compare_table, [first, second])
    assert [row["result"] for row in rows] == [
        "node · tuned bf16 · 700 W",
        "node · tuned bf16 · 700 W (2)",
    ]
    assert {row["against"] for row in rows} == {"node · tuned bf16 · 700 W"}
    assert [row["rate_percent"] for row in rows] == [0, -10]
    assert round(float(rows[1]["joules_percent"] or 0), 4) == 11.1111


def test_best_results_are_those_of_their_group_and_cap() -> None:
    efficient = {"items_per_joule": make_figure(9.0)}
    rows = build_rows(
        build_best_table,
        [
            make_run_row(1000, "a"),
            make_run_row(900, "a", variant="frugal", **efficient),
            make_run_row(800, "a", cap_w=500.0),
            make_run_row(2000, "a", precision="fp8"),
            make_run_row(9000, "a", cap_enforced=False),
            make_run_row(9000, "a", cap_w=None),
            make_run_row(9000, "a", items_per_joule=None),
        ],
    )
    best = [(row["like"], row["cap_w"], row["n"], row["by"], row["value"]) for row in rows]
    bf16, fp8 = "closed, bf16, 1 \u00d7", "closed, fp8, 1 \u00d7"
    assert best == [
        (bf16, 500, 1, "throughput", 800),
        (bf16, 500, 1, "efficiency", 1.142857143),
        (bf16, 700, 2, "throughput", 1000),
        (bf16, 700, 2, "efficiency", 9),
        (fp8, 700, 1, "throughput", 2000),
        (fp8, 700, 1, "efficiency", 2.857142857),
    ]
    assert [row["unit"] for row in rows[:2]] == ["images/s", "images/J"]
    assert build_rows(build_best_table, [make_run_row(1000, "a", cap_w=None)]) == ()


def test_tuned_run_is_compared_within_its_system_board_and_count() -> None:
    baseline = {"variant": "baseline"}
    rows = build_rows(
        build_tuned_table,
        [
            make_run_row(300, "a", **baseline),
            make_run_row(1000, "a"),
            make_run_row(1500, "a", precision="fp8"),
            make_run_row(200, "b", system="other", **baseline),
            make_run_row(800, "b", system="other"),
            make_run_row(290, "a", "b", **baseline),
            make_run_row(980, "a", "b"),
            make_run_row(100, "d", model="A100", **baseline),
            make_run_row(400, "d", model="A100"),
            make_run_row(700, "e", system="without a baseline"),
        ],
    )
    assert sorted((row["baseline_rate"], row[RATE]) for row in rows) == [
        (100, 400),
        (200, 800),
        (290, 980),
        (300, 1000),
        (300, 1500),
    ]
    assert {row["rate_told"] for row in rows} == {"higher"}


def test_columns_that_only_charts_and_exports_need_are_hidden() -> None:
    table = build_compare_table(
        RESNET, [make_run_row(1000, "a"), make_run_row(980, "a")], Path.as_posix, "table"
    )
    assert table is not None
    assert {"cap_w", "boards"} <= {column.key for column in table.columns if column.hidden}
