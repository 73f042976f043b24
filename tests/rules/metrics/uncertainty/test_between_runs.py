"""What another run on another board gives, and which settings are told apart: small examples, and
simulations of how often the intervals hold."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rules.metrics.figures import student_t99
from rules.metrics.uncertainty.between_runs import (
    RunsByBoard,
    RunSpread,
    compare_settings,
    estimate_another_run,
    pool_run_spread,
    pool_runs_on_one_board,
)
from rules.metrics.uncertainty.repeats import Component

T4, T14 = 2.776, 2.145
"""95 % quantiles of Student's t with 4 and 14 degrees of freedom, from a table."""
T14_OF_99 = 2.977
UNKNOWN_RUNS = RunSpread(Component(2.0, 14), None)
KNOWN_RUNS = RunSpread(Component(2.0, 14), Component(1.0, 14))
"""Variances of 3e-4 between boards and 1e-4 between runs, which add up to (2 %)^2."""


@pytest.mark.parametrize(
    ("setting", "mean", "variance", "variance_of_unknown_runs"),
    [
        ({"a": [10.0]}, 10, 8e-4, 8e-4),
        ({"a": [9.0, 11.0]}, 10, 7.5e-4, 8e-4),
        ({"a": [9.0], "b": [11.0]}, 10, 6e-4, 6e-4),
        ({"a": [9.0, 10.0, 11.0]}, 10, 22e-4 / 3, 8e-4),
        ({"a": [9.0, 10.0], "b": [14.0]}, 11, 6e-4, 56e-4 / 9),
        ({"a": [9.0], "b": [10.0], "c": [14.0]}, 11, 16e-4 / 3, 16e-4 / 3),
        ({"a": [10.0] * 10}, 10, 7.1e-4, 8e-4),
        ({"a": [10.0] * 4, "b": [10.0] * 3, "c": [10.0] * 2, "d": [10.0]}, 10, 5e-4, 5.2e-4),
        ({board: [10.0] for board in "abcdefghij"}, 10, 4.4e-4, 4.4e-4),
    ],
)
def test_interval_of_another_run_on_another_board(
    setting: RunsByBoard, mean: float, variance: float, variance_of_unknown_runs: float
) -> None:
    """The variance is that of the mean of these runs and that of one more run on one more board."""
    for spread, expected in (
        (KNOWN_RUNS, variance),
        (UNKNOWN_RUNS, variance_of_unknown_runs),
    ):
        estimate = estimate_another_run(setting, spread)
        half_width = mean * T14 * math.sqrt(expected)
        assert (estimate.mean, estimate.n) == (mean, sum(map(len, setting.values())))
        assert estimate.ci95 == pytest.approx((mean - half_width, mean + half_width))


def test_interval_has_the_degrees_of_freedom_of_the_boards() -> None:
    estimate = estimate_another_run({"a": [100.0]}, RunSpread(Component(2.0, 4), None))
    half_width = 100 * T4 * 0.02 * math.sqrt(2)
    assert estimate.ci95 == pytest.approx((100 - half_width, 100 + half_width))


def test_variance_between_boards_is_without_that_between_runs() -> None:
    """Board means over two runs hold half of the variance between runs."""
    spread = RunSpread(Component(2.0, 14), Component(1.0, 3), runs_share=0.5)
    assert spread.compute_variance(1, 0) == pytest.approx(3.5e-4)
    assert spread.compute_variance(0, 1) == pytest.approx(1e-4)
    assert spread.compute_variance(2, 0.5) == pytest.approx(7.5e-4)


def test_variance_between_boards_is_never_negative() -> None:
    spread = RunSpread(Component(0.5, 14), Component(1.5, 3))
    assert spread.compute_variance(2, 0) == 0
    estimate = estimate_another_run({"a": [100.0] * 10}, spread)
    half_width = 100 * T14 * 0.015 * math.sqrt(1.1)
    assert estimate.ci95 == pytest.approx((100 - half_width, 100 + half_width))


def test_spread_is_pooled_over_settings_by_degrees_of_freedom() -> None:
    settings = (
        {"a": [9.0, 11.0], "b": [12.0]},  # board means 10 and 12
        {"c": [100.0], "d": [101.0], "e": [102.0]},
        {"f": [49.0, 51.0]},  # nothing on boards
    )
    spread = pool_run_spread(settings)
    assert spread is not None and spread.runs is not None
    assert spread.boards.degrees_of_freedom == 3
    assert spread.boards.percent == pytest.approx(100 * math.sqrt((2 / 11**2 + 2 / 101**2) / 3))
    assert spread.runs.degrees_of_freedom == 2
    assert spread.runs.percent == pytest.approx(100 * math.sqrt((2 * 0.1**2 + 2 * 0.02**2) / 2))
    assert spread.runs_share == pytest.approx((1 * 0.75 + 2 * 1) / 3)


def test_runs_on_one_board_tell_nothing_about_boards_and_the_other_way_round() -> None:
    assert pool_run_spread([{"a": [9.0, 11.0]}, {"b": [10.0]}]) is None
    assert pool_run_spread([]) is None
    assert pool_runs_on_one_board([{"a": [9.0], "b": [11.0]}]) is None
    spread = pool_run_spread([{"a": [9.0], "b": [11.0]}])
    assert spread is not None and spread.runs is None


def check_difference(
    settings: tuple[RunsByBoard, RunsByBoard],
    spreads: tuple[RunSpread, RunSpread],
    ratio: float,
    half_width: float,
    boards: int = 0,
) -> None:
    """`half_width` is that of the logarithm of the ratio. The exchanged settings have the
    reciprocal ratio."""
    for sign, (first, second) in ((1, (0, 1)), (-1, (1, 0))):
        difference = compare_settings(
            settings[first], spreads[first], settings[second], spreads[second]
        )
        ends = [
            100 * (math.exp(sign * math.log(ratio) + shift) - 1)
            for shift in (-half_width, half_width)
        ]
        assert difference.percent == pytest.approx(100 * (ratio**sign - 1))
        assert difference.ci95 == pytest.approx(ends)
        assert difference.boards == boards


@pytest.mark.parametrize(
    ("setting", "baseline", "variance"),
    [
        ({"a": [11.0]}, {"b": [10.0]}, 8e-4),
        ({"a": [10.0, 12.0]}, {"b": [10.0]}, 7.5e-4),
        ({"a": [10.0], "c": [12.0]}, {"b": [10.0], "d": [10.0]}, 4e-4),
        ({board: [11.0] for board in "abcdefghij"}, {"k": [10.0]}, 4.4e-4),
    ],
)
def test_difference_of_settings_on_different_boards(
    setting: RunsByBoard, baseline: RunsByBoard, variance: float
) -> None:
    half_width = T14 * math.sqrt(variance)
    check_difference((setting, baseline), (KNOWN_RUNS, KNOWN_RUNS), 1.1, half_width)


def test_runs_on_the_same_boards_are_compared_on_these() -> None:
    """Only the variance between runs is left. On board a the difference is 10 %."""
    setting: RunsByBoard = {"a": [11.0]}
    spreads = KNOWN_RUNS, KNOWN_RUNS
    half_width = T14 * math.sqrt(2e-4)
    check_difference((setting, {"a": [10.0], "b": [9.0]}), spreads, 1.1, half_width, boards=1)
    # Two runs of the baseline on the shared board, and the mean over two shared boards.
    half_width = T14 * math.sqrt(1.5e-4)
    baseline: RunsByBoard = {"a": [9.0, 11.0], "b": [9.0]}
    check_difference((setting, baseline), spreads, 1.1, half_width, boards=1)
    both: RunsByBoard = {"a": [12.0], "b": [11.0]}
    baseline = {"a": [10.0], "b": [10.0], "c": [20.0]}
    half_width = T14 * math.sqrt(4e-4) / 2
    check_difference((both, baseline), spreads, math.sqrt(1.2 * 1.1), half_width, boards=2)


def test_comparison_on_shared_boards_has_the_degrees_of_freedom_of_the_runs() -> None:
    spread = RunSpread(Component(4.0, 14), Component(1.0, 4))
    baseline: RunsByBoard = {"a": [10.0], "b": [9.0]}
    half_width = T4 * math.sqrt(2e-4)
    check_difference(({"a": [11.0]}, baseline), (spread, spread), 1.1, half_width, boards=1)


def test_runs_that_share_all_boards_have_the_degrees_of_freedom_of_the_runs() -> None:
    """The spread between boards has no part in the difference, and neither have its degrees."""
    spread = RunSpread(Component(4.0, 14), Component(1.0, 4))
    difference = compare_settings({"a": [11.0]}, spread, {"a": [10.0]}, spread)
    high = 100 * (1.1 * math.exp(T4 * math.sqrt(2e-4)) - 1)
    assert difference.ci95[1] == pytest.approx(high)


def test_all_runs_are_compared_where_that_is_more_certain() -> None:
    """Each setting has ten boards, of which they share one: 2 x 0.1 (2 %)^2 without twice what the
    board adds to both. On board a alone the ratio would be 2."""
    setting = {"a": [20.0], **{board: [10.0] for board in "bcdefghij"}}
    baseline = {board: [10.0] for board in "aklmnopqrs"}
    half_width = T14 * math.sqrt(0.8e-4 - 2 * 0.01 * 3e-4)
    check_difference((setting, baseline), (KNOWN_RUNS, KNOWN_RUNS), 1.1, half_width)


def test_shared_boards_do_not_count_without_a_spread_between_runs_or_if_not_wanted() -> None:
    setting: RunsByBoard = {"a": [11.0]}
    baseline: RunsByBoard = {"a": [10.0], "b": [10.0]}
    half_width = T14 * math.sqrt(1.5 * 4e-4)
    check_difference((setting, baseline), (UNKNOWN_RUNS, UNKNOWN_RUNS), 1.1, half_width)
    difference = compare_settings(setting, KNOWN_RUNS, baseline, KNOWN_RUNS, on_shared_boards=False)
    assert difference.boards == 0
    # The half of the baseline that ran on another board: half of 3e-4, and 1.5 times 1e-4.
    high = 100 * (1.1 * math.exp(T14 * math.sqrt(3e-4)) - 1)
    assert difference.ci95[1] == pytest.approx(high)


def test_each_kind_of_board_has_its_own_spread_and_the_fewer_degrees_count() -> None:
    uncertain, certain = RunSpread(Component(2.0, 4), None), RunSpread(Component(1.0, 14), None)
    half_width = T4 * math.sqrt(4e-4 + 1e-4)
    check_difference(({"a": [11.0]}, {"b": [10.0]}), (uncertain, certain), 1.1, half_width)


@pytest.mark.parametrize(
    ("quantiles", "certainty"),
    [
        (0.0, "not told apart"),
        (T14 * 0.9999, "not told apart"),
        (T14 * 1.0001, "likely"),
        (T14_OF_99 * 0.9999, "likely"),
        (T14_OF_99 * 1.0001, "certain"),
    ],
)
def test_certainty_of_a_difference(quantiles: float, certainty: str) -> None:
    """Two single runs have a standard error of sqrt(2) x 2 %."""
    for sign in (1, -1):
        value = 10 * math.exp(sign * quantiles * math.sqrt(8e-4))
        difference = compare_settings({"a": [value]}, KNOWN_RUNS, {"b": [10.0]}, KNOWN_RUNS)
        assert difference.certainty == certainty
        assert difference.counts == (certainty != "not told apart")
        assert difference.counts != (difference.ci95[0] <= 0 <= difference.ci95[1])


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 63.657), (3, 5.841), (14, 2.977), (15, 2.947), (16, 2.921), (30, 2.750), (120, 2.617)],
)
def test_quantiles_of_99_percent_are_those_of_the_tables(degrees: int, quantile: float) -> None:
    assert student_t99(degrees) == pytest.approx(quantile, abs=0.0007)


BOARDS_SD, RUNS_SD = 0.015, 0.004
ROUND = ([1] * 4, [3] + [1] * 7, [1, 1], [1, 1], [1, 1], [2, 1])
"""The numbers of runs on each board, of each setting with repeats of a simulated round."""
REPETITIONS = 4000
MakeSetting = Callable[..., dict[str, list[float]]]


@pytest.fixture
def make_setting() -> MakeSetting:
    """Makes the runs of a setting whose mean over all boards is 1."""
    random = np.random.default_rng(20260101)

    def make(
        design: Sequence[int], name: str = "board", boards: dict[str, float] | None = None
    ) -> dict[str, list[float]]:
        """`boards` keeps what each board adds, for settings that share boards."""
        boards = {} if boards is None else boards
        setting = {}
        for place, runs in enumerate(design):
            board = f"{name} {place}"
            board_share = boards.setdefault(board, random.normal(0, BOARDS_SD))
            setting[board] = [1 + board_share + error for error in random.normal(0, RUNS_SD, runs)]
        return setting

    return make


def make_spread(make_setting: MakeSetting) -> RunSpread:
    """The spread as a simulated round tells it."""
    spread = pool_run_spread([make_setting(design) for design in ROUND])
    assert spread is not None
    return spread


@pytest.mark.parametrize("design", [[1], [1] * 2, [1] * 3, [1] * 10, [3], [4, 3, 2, 1]], ids=str)
def test_95_percent_of_other_runs_are_within_the_interval(
    design: list[int], make_setting: MakeSetting
) -> None:
    hits = 0
    for _ in range(REPETITIONS):
        estimate = estimate_another_run(make_setting(design), make_spread(make_setting))
        ((other_run,),) = make_setting([1]).values()
        assert estimate.ci95 is not None
        hits += estimate.ci95[0] <= other_run <= estimate.ci95[1]
    assert 0.93 <= hits / REPETITIONS <= 0.97


def count_differences(
    designs: tuple[list[int], list[int]], make_setting: MakeSetting, are_shared: bool
) -> dict[str, float]:
    """How often two equal settings have each certainty of a difference."""
    counts = dict.fromkeys(("certain", "likely", "not told apart"), 0.0)
    for _ in range(REPETITIONS):
        spread = make_spread(make_setting)
        boards: dict[str, float] = {}
        first = make_setting(designs[0], boards=boards)
        second = make_setting(designs[1], "board" if are_shared else "other", boards)
        counts[compare_settings(first, spread, second, spread).certainty] += 1 / REPETITIONS
    return counts


@pytest.mark.parametrize(
    "designs",
    [
        ([1], [1]),
        ([1] * 2, [1]),
        ([1] * 3, [1] * 2),
        ([1] * 10, [1] * 10),
        ([3], [1, 1]),
        ([4, 3, 2, 1], [3]),
    ],
    ids=str,
)
def test_5_percent_of_equal_settings_are_told_apart(
    designs: tuple[list[int], list[int]], make_setting: MakeSetting
) -> None:
    shares = count_differences(designs, make_setting, are_shared=False)
    assert 0.93 <= shares["not told apart"] <= 0.97
    assert 0.002 <= shares["certain"] <= 0.02


@pytest.mark.parametrize(
    "designs",
    [
        ([1], [1]),
        ([1, 1], [1, 1]),
        ([2], [2]),
        ([1], [1, 1]),
        ([3, 1], [1, 1, 1]),
    ],
    ids=str,
)
def test_5_percent_of_equal_settings_on_the_same_boards_are_told_apart(
    designs: tuple[list[int], list[int]], make_setting: MakeSetting
) -> None:
    shares = count_differences(designs, make_setting, are_shared=True)
    assert 0.93 <= shares["not told apart"] <= 0.97
