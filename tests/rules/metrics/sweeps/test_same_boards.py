"""Settings compared on the same boards."""

import math
from itertools import product

import numpy as np
import pytest

from rules.metrics.sweeps.same_boards import BoardRun, estimate_changes_on_same_boards
from rules.metrics.uncertainty.repeats import Component

SPREAD = Component(0.2, 3)
T3 = 3.182


def compute_half_width_percent(low: float, high: float) -> float:
    """Half of the interval of the logarithm, in percent."""
    return 50 * (math.log1p(high / 100) - math.log1p(low / 100))


def test_difference_between_boards_drops_out() -> None:
    runs = [
        BoardRun(setting, board, setting_value * board_factor)
        for (setting, setting_value), (board, board_factor) in product(
            (("64", 1000.0), ("128", 1100.0)), (("A", 1.0), ("B", 0.95))
        )
    ]
    (change,) = estimate_changes_on_same_boards(runs, "64", SPREAD).values()
    assert change.mean == pytest.approx(10.0) and change.n == 4
    assert change.ci95 is not None
    # The mean of two boards, each with one run of either setting.
    assert compute_half_width_percent(*change.ci95) == pytest.approx(T3 * 0.2)


def test_repeats_on_one_board_make_the_interval_narrower() -> None:
    runs = [BoardRun("64", "A", value) for value in (99.0, 100.0, 101.0)]
    runs.append(BoardRun("128", "A", 110.0))
    change = estimate_changes_on_same_boards(runs, "64", SPREAD)["128"]
    assert change.mean == pytest.approx(10.0, abs=0.01)
    assert change.ci95 is not None
    half_width = compute_half_width_percent(*change.ci95)
    assert half_width == pytest.approx(T3 * 0.2 * math.sqrt(1 + 1 / 3))


def test_settings_are_compared_through_another_one_that_both_boards_ran() -> None:
    runs = [
        BoardRun("64", "A", 100.0),
        BoardRun("128", "A", 110.0),
        BoardRun("128", "B", 220.0),
        BoardRun("256", "B", 242.0),
        BoardRun("512", "C", 1.0),
    ]
    changes = estimate_changes_on_same_boards(runs, "64", SPREAD)
    # No chain of boards leads to 512.
    assert list(changes) == ["128", "256"]
    assert changes["256"].mean == pytest.approx(21.0)
    half_widths = [compute_half_width_percent(*c.ci95) for c in changes.values() if c.ci95]
    assert half_widths == pytest.approx([T3 * 0.2 * math.sqrt(2), T3 * 0.2 * 2])


def test_nothing_is_compared_without_a_shared_board() -> None:
    runs = [BoardRun("64", "A", 100.0), BoardRun("64", "B", 90.0), BoardRun("128", "C", 110.0)]
    assert estimate_changes_on_same_boards(runs, "64", SPREAD) == {}
    assert estimate_changes_on_same_boards(runs, "32", SPREAD) == {}


def test_intervals_contain_the_true_change_in_95_of_100_simulations() -> None:
    random = np.random.default_rng(1)
    places = (("64", "A"), ("128", "A"), ("128", "B"), ("256", "B"), ("256", "A"), ("512", "B"))
    settings, sd, degrees = {"64": 1.0, "128": 1.1, "256": 0.9, "512": 1.2}, 0.002, 6
    hits = total = 0
    for _ in range(1000):
        boards = {"A": 1.0, "B": math.exp(random.normal(0, 0.02))}
        runs = [
            BoardRun(setting, board, settings[setting] * boards[board] * math.exp(noise))
            for (setting, board), noise in zip(places, random.normal(0, sd, 6), strict=True)
        ]
        spread = Component(100 * sd * math.sqrt(random.chisquare(degrees) / degrees), degrees)
        for setting, change in estimate_changes_on_same_boards(runs, "64", spread).items():
            low, high = change.ci95 or (math.nan, math.nan)
            hits += low <= 100 * (settings[setting] - 1) <= high
            total += 1
    assert total == 3000 and 0.93 < hits / total < 0.97
