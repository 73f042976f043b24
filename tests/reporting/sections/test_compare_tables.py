"""The tables that compare results: which rows they compare, and what they say of a difference."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row

from reporting.report_table import TableRow
from reporting.results_model import ResultRow
from reporting.sections.against import make_against_cells
from reporting.sections.best import build_best_table
from reporting.sections.cells import distinguish_names
from reporting.sections.compare import build_compare_table
from reporting.sections.overview import build_workloads_table
from reporting.sections.repeats import NO_REPEATS, measure_spread
from reporting.sections.variants import build_tuned_table
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
RATE = "items_per_s_per_accelerator"


def build_rows(build: Any, rows: Sequence[ResultRow]) -> Sequence[TableRow]:
    table = build(RESNET, rows, Path.as_posix, "table")
    return () if table is None else table.rows


def make_setting(*rates: float, boards: str = "abcdefgh", **fields: Any) -> list[ResultRow]:
    """One run per rate, on one board each."""
    return [make_run_row(rate, board, **fields) for rate, board in zip(rates, boards, strict=False)]


def test_small_difference_between_single_runs_is_not_told_apart() -> None:
    """By the rule book: 14 degrees of freedom, for which t is 2.145. Two single runs need
    exp(-2.145 x sqrt(2) x 1.5 %), which is 955.5 against 1000."""
    rows = build_rows(
        build_compare_table,
        [
            make_run_row(979, "b", batch_size=1),
            make_run_row(1000, "a", batch_size=2),
            make_run_row(980, "a", batch_size=3),
            make_run_row(956, "b", batch_size=4),
            make_run_row(955, "a", batch_size=5),
        ],
    )
    # Without repeats on one board, nothing tells how far its own runs are apart.
    assert [(row[RATE], row["rate_told"], row["joules_told"]) for row in rows] == [
        (1000, "baseline", "baseline"),
        (980, "not told apart", "not told apart"),
        (979, "not told apart", "not told apart"),
        (956, "not told apart", "not told apart"),
        (955, "lower", "higher"),
    ]


def test_repeats_on_several_boards_show_smaller_differences() -> None:
    spread_rows = make_setting(990, 1000, 1010, 1000, batch_size=1)
    others = make_setting(973, 983, 963, 973, batch_size=2)
    (single,) = make_setting(980, batch_size=3)
    rows = [*spread_rows, *others, single]
    spread = measure_spread(rows)
    # Both settings have a standard deviation of sqrt(200 / 3) images/s on four boards.
    kind = spread.find("H200")
    boards = kind.by_figure[RATE].boards
    percent = 100 * math.sqrt(200 * (1 / 1000**2 + 1 / 973**2) / 6)
    assert (boards.percent, boards.degrees_of_freedom) == (pytest.approx(percent), 6)
    assert (kind.runs, kind.boards, kind.settings) == (8, 4, 2)
    # Two single runs, with t = 2.447 for 6 degrees of freedom.
    limit = 100 * (math.exp(2.447 * math.sqrt(2) * percent / 100) - 1)
    assert kind.get_least_difference_percent(RATE) == pytest.approx(limit)
    table = build_compare_table(RESNET, rows, Path.as_posix, "table", spread)
    assert table is not None
    shown = {
        row["result"]: (row["runs"], row["boards_n"], row[RATE], row["rate_told"])
        for row in table.rows
    }
    name = "node \u00b7 tuned bf16 \u00b7 700 W"
    assert shown == {
        f"{name} \u00b7 batch 1": (4, 4, 1000, "baseline"),
        # One run each would need 2.8 %. Four boards each need half of it, four against one 2.2 %.
        f"{name} \u00b7 batch 3": (1, 1, 980, "not told apart"),
        f"{name} \u00b7 batch 2": (4, 4, 973, "lower"),
    }


def test_repeats_on_one_board_judge_runs_on_that_board() -> None:
    """Five runs differ by 0.16 %, with 4 degrees of freedom: on their board 0.5 % is told apart.
    Elsewhere the spread between boards counts, by the rule book."""
    repeats = make_setting(1000, 1001, 1002, 1003, 1004, boards="aaaaa", batch_size=1)
    slower, elsewhere = (
        make_setting(rate, boards=board, batch_size=batch_size)
        for rate, board, batch_size in ((992, "a", 2), (990, "b", 3))
    )
    rows = [*repeats, *slower, *elsewhere]
    table = build_compare_table(RESNET, rows, Path.as_posix, "table", measure_spread(rows))
    assert table is not None
    assert [row["rate_told"] for row in table.rows] == ["baseline", "lower", "not told apart"]


def test_settings_that_share_boards_are_compared_on_these_alone() -> None:
    repeats = make_setting(1000, 1001, 1002, 1003, 1004, boards="aaaaa", batch_size=1)
    fast = make_setting(2000, 1600, boards="ab", batch_size=2)
    slower = make_setting(1980, boards="a", batch_size=3)
    rows = [*repeats, *fast, *slower]
    table = build_compare_table(RESNET, rows, Path.as_posix, "table", measure_spread(rows))
    assert table is not None
    by_rate = {row[RATE]: row for row in table.rows}
    # The setting of one run is the fastest: its rate is above the mean over two boards.
    baseline, on_a, others = by_rate[1980], by_rate[1800], by_rate[1002]
    assert baseline["rate_told"] == "baseline" and baseline.get("shared_boards") is None
    # On board a it is slower by 1 %, although the means say the opposite.
    assert (on_a["shared_boards"], on_a["rate_told"]) == (1, "higher")
    assert on_a["rate_percent"] == pytest.approx(100 * (2000 / 1980 - 1))
    assert others["rate_told"] == "lower"


def test_row_of_results_shows_its_own_change() -> None:
    """Not that of its setting, whose other run is another one."""
    rows = [
        *make_setting(1000, 1040, boards="ab", batch_size=1),
        *make_setting(960, 900, boards="ac", batch_size=2),
        make_run_row(500, "d", precision="fp8"),
        make_run_row(2000, "e", cap_enforced=False),
    ]
    cells = make_against_cells(rows, NO_REPEATS)
    mean = 1020
    assert [row.get("rate_percent") for row in cells] == [
        *(pytest.approx(100 * (rate / mean - 1)) for rate in (1000, 1040, 960, 900)),
        None,
        None,
    ]
    # One run against two on other boards: 2.145 x sqrt(1.5) x 1.5 % is 3.9 %.
    told = [row.get("rate_told") for row in cells]
    assert told == ["not told apart"] * 2 + ["lower"] * 2 + [None] * 2
    assert len({row["setting"] for row in cells[:2]}) == 1 and cells[5] == {}


def test_change_of_a_row_is_not_that_on_shared_boards() -> None:
    """A reader can compute it from the row and the mean of the baseline."""
    repeats = make_setting(1000, 1001, 1002, 1003, 1004, boards="aaaaa", batch_size=1)
    baseline = make_setting(2000, 1600, boards="ab", batch_size=2)
    row = make_run_row(1700, "a", batch_size=3)
    rows = [*repeats, *baseline, row]
    cells = make_against_cells(rows, measure_spread(rows))[-1]
    assert cells["rate_percent"] == pytest.approx(100 * (1700 / 1800 - 1))
    assert cells.get("shared_boards") is None


def test_single_run_that_is_the_fastest_setting_says_so() -> None:
    rows = [make_run_row(1000, "a", batch_size=1), make_run_row(900, "b", batch_size=2)]
    cells = make_against_cells(rows, NO_REPEATS)
    assert [(row["rate_percent"], row["rate_told"]) for row in cells] == [
        (0, "fastest of its group"),
        (pytest.approx(-10), "lower"),
    ]


def test_setting_without_others_in_its_group_is_compared_with_none() -> None:
    rows = [
        make_run_row(1000, "a", batch_size=1),
        make_run_row(900, "a", batch_size=2),
        make_run_row(950, "a", "b"),
    ]
    compared = {row["like"]: row for row in build_rows(build_compare_table, rows)[1:]}
    alone = compared["closed, bf16, 2 \u00d7"]
    assert (alone["rate_told"], alone["joules_told"]) == ("only one of its group",) * 2
    assert alone.get("rate_percent") is None and alone.get("joules_percent") is None
    assert not any("rate_told" in row for row in make_against_cells(rows, NO_REPEATS)[2:])


def test_published_figures_have_no_interval() -> None:
    rows = [
        make_run_row(rate, provenance=None, standing="published", precision=None, system=system)
        for rate, system in ((1000, "A 2026"), (500, "B 2026"))
    ]
    baseline, other = build_rows(build_compare_table, rows)
    assert (baseline["rate_told"], baseline["joules_told"]) == ("baseline", "baseline")
    assert (other["rate_told"], other["joules_told"]) == ("no interval", "no interval")
    assert (other["rate_percent"], other["joules_percent"]) == (-50, 100)


def test_best_result_is_compared_with_the_second() -> None:
    for rate, comparison in ((950, "higher"), (980, "not told apart")):
        rows = build_rows(
            build_best_table,
            [make_run_row(1000, "a", batch_size=1), make_run_row(rate, "b", batch_size=2)],
        )
        assert [(row["by"], row["told"]) for row in rows] == [
            ("throughput", comparison),
            ("efficiency", comparison),
        ]
    alone = build_rows(build_best_table, [make_run_row(1000, "a")])
    assert {row["told"] for row in alone} == {"only result"}


def test_mean_over_repeats_stands_for_a_variant() -> None:
    baselines = [make_run_row(rate, "a", variant="baseline") for rate in (300, 310, 305)]
    tuned = [make_run_row(rate, "a") for rate in (1000, 1020, 1010)]
    for rows in ([*baselines, *tuned], [*tuned[::-1], *baselines[::-1]]):
        (row,) = build_rows(build_tuned_table, rows)
        assert (row[RATE], row["baseline_rate"], row["runs"]) == (1010, 305, 3)
        # Another board by the rule book, for which three runs on one board are as good as one:
        # sd 1.5 %, t = 2.145. The spread of these runs says nothing about boards.
        half_width = 1010 * 2.145 * 0.015 * math.sqrt(2)
        assert row[f"{RATE}_high"] == pytest.approx(1010 + half_width)


def test_tuned_table_says_on_how_many_boards_its_changes_are() -> None:
    tuned = [make_run_row(rate, board) for rate, board in ((1000, "a"), (1100, "b"), (930, "c"))]
    repeats = [make_run_row(rate, "a", batch_size=1) for rate in (900, 901, 902, 903)]
    baselines = [
        make_run_row(rate, board, variant="baseline") for rate, board in ((500, "a"), (550, "b"))
    ]
    spread = measure_spread([*tuned, *repeats, *baselines])

    def build_row(*rows: ResultRow) -> TableRow:
        table = build_tuned_table(RESNET, rows, Path.as_posix, "table", spread)
        assert table is not None
        (row,) = table.rows
        return row

    row = build_row(*tuned, *baselines)
    # Over all runs, 1010 against 525 would be 92.4 %.
    assert (row[RATE], row["baseline_rate"]) == (1010, 525)
    assert (row["rate_percent"], row["shared_boards"]) == (pytest.approx(100), 2)
    assert build_row(tuned[2], *baselines).get("shared_boards") is None


def test_fastest_setting_of_a_variant_counts() -> None:
    rows = [
        *(make_run_row(rate, "a", batch_size=rate) for rate in (900, 1000, 950)),
        *(make_run_row(rate, "a", variant="baseline", batch_size=rate) for rate in (290, 310, 300)),
    ]
    (row,) = build_rows(build_tuned_table, rows)
    assert (row[RATE], row["baseline_rate"]) == (1000, 310)


def test_one_lucky_run_is_neither_baseline_nor_best() -> None:
    lucky = make_setting(1100, 900, 900, batch_size=1)
    steady = make_setting(1000, 1000, 1000, batch_size=2)
    for rows in ([*lucky, *steady], [*steady, *lucky]):
        compared = build_rows(build_compare_table, rows)
        assert [row[RATE] for row in compared] == [1000, 966.6666667]
        assert build_rows(build_best_table, rows)[0]["value"] == 1000
        (winner,) = build_workloads_table(rows, NO_REPEATS).rows
        assert winner["fastest_rate"] == 1000


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
        make_run_row(900, "a", batch_size=1),
        make_run_row(2000, "a", precision="fp8"),
        make_run_row(1800, "a", precision="fp8", batch_size=1),
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


def test_equal_names_are_followed_by_the_batch_size_and_a_number() -> None:
    rows = [make_run_row(1000, "a", batch_size=batch_size) for batch_size in (8, 8, 16, None, 8)]
    assert distinguish_names(["a", "a", "a", "a", "b"], rows) == [
        "a · batch 8",
        "a · batch 8 (2)",
        "a · batch 16",
        "a",
        "b",
    ]


def test_comparison_needs_two_settings_of_one_group_and_tells_equal_names_apart() -> None:
    first, second = make_run_row(1000, "a"), make_run_row(900, "a", batch_size=1)
    assert build_rows(build_compare_table, [first, make_run_row(900, "a", precision="fp8")]) == ()
    rows = build_rows(build_compare_table, [first, second])
    assert [row["result"] for row in rows] == [
        "node · tuned bf16 · 700 W",
        "node · tuned bf16 · 700 W · batch 1",
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
        RESNET,
        [make_run_row(1000, "a"), make_run_row(980, "a", batch_size=1)],
        Path.as_posix,
        "table",
    )
    assert table is not None
    hidden_keys = {column.key for column in table.columns if column.hidden}
    assert {"cap_w", "runs_by_board"} <= hidden_keys


def test_table_has_the_runs_on_each_board_that_a_difference_follows_from() -> None:
    """The page compares any two settings from them."""
    rows = [
        make_run_row(rate, board, joules_per_item=make_figure(joules))
        for rate, board, joules in ((1000, "a", 0.5), (1010, "a", 0.75), (990, "b", 0.25))
    ]
    other = make_run_row(100, "c", batch_size=1, joules_per_item=None)
    shown = [row["runs_by_board"] for row in build_rows(build_compare_table, [*rows, other])]
    assert shown == ["a, 2, 1005.0, 0.625; b, 1, 990.0, 0.25", "c, 1, 100.0, None"]
