"""Energy of a series over a window that another program states."""

import math

import numpy as np
import pytest

from rules.metrics.power.window import counter_over_window, find_clock_shift, integrate_window

SECONDS = np.arange(0.0, 101.0)


def test_edges_are_interpolated() -> None:
    part = integrate_window(SECONDS, 10 * SECONDS, 10.5, 20.5)
    assert part.energy_j == pytest.approx(5 * (20.5**2 - 10.5**2))
    assert (part.readings, part.covered_share, part.missing_s) == (10, 1.0, 0.0)
    assert part.mean_power_w == pytest.approx(155.0)


def test_power_is_constant_beyond_the_series() -> None:
    part = integrate_window(SECONDS, np.full(101, 7.0), 50.0, 150.0)
    assert part.energy_j == pytest.approx(700.0)
    assert part.covered_share == pytest.approx(0.5)


def test_order_and_failed_readings_do_not_matter() -> None:
    power_w = 100 + SECONDS
    shuffled = np.random.default_rng(1).permutation(101)
    times_s = np.append(SECONDS[shuffled], 33.3)
    readings_w = np.append(power_w[shuffled], np.nan)
    part = integrate_window(times_s, readings_w, 5.0, 95.0)
    assert part.energy_j == pytest.approx(integrate_window(SECONDS, power_w, 5.0, 95.0).energy_j)


def test_readings_of_one_time_have_no_weight() -> None:
    times_s = np.array([0.0, 1.0, 1.0, 2.0])
    part = integrate_window(times_s, np.array([1.0, 1.0, 1.0, 1.0]), 0.0, 2.0)
    assert part.energy_j == pytest.approx(2.0)


def test_interval_holds_the_truth_in_about_95_of_100_cases() -> None:
    """Independent readings of which the mean is known."""
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        part = integrate_window(SECONDS, 500 + 50 * random.standard_normal(101), 0.0, 100.0)
        hits += part.low_j <= 50_000 <= part.high_j
    assert 360 <= hits <= 398


def test_two_readings_have_no_interval() -> None:
    part = integrate_window(np.array([0.0, 2.0]), np.array([5.0, 5.0]), 0.0, 2.0)
    assert part.energy_j == 10.0 and math.isnan(part.low_j)


def test_gap_is_missing_time_beyond_a_step() -> None:
    kept = (SECONDS < 40) | (SECONDS > 44)
    part = integrate_window(SECONDS[kept], np.ones(kept.sum()), 0.0, 100.0)
    assert (part.largest_gap_s, part.missing_s) == (6.0, 5.0)


@pytest.mark.parametrize(
    ("times", "window", "text"),
    [([], (0.0, 1.0), "no reading"), ([0.0, 1.0], (1.0, 1.0), "no length")],
)
def test_nothing_to_integrate_is_refused(
    times: list[float], window: tuple[float, float], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        integrate_window(np.array(times), np.ones(len(times)), *window)


def test_counter_is_interpolated_and_bounded_by_its_neighbours() -> None:
    energy_j, low_j, high_j = counter_over_window(SECONDS, 10 * SECONDS, 10.25, 20.5)
    assert (energy_j, low_j, high_j) == pytest.approx((102.5, 90.0, 110.0))


@pytest.mark.parametrize(
    ("counter_j", "window", "text"),
    [
        (-SECONDS, (1.0, 2.0), "falls"),
        (SECONDS, (-1.0, 2.0), "do not cover"),
        (SECONDS, (1.0, 200.0), "do not cover"),
    ],
)
def test_counter_that_says_nothing_is_refused(
    counter_j: np.ndarray, window: tuple[float, float], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        counter_over_window(SECONDS, counter_j, *window)


@pytest.mark.parametrize(
    ("first_s", "last_s", "shift_s"),
    [
        (0.0, 100.0, 0.0),  # it meets the window
        (-18_010.0, -17_890.0, 18_000.0),
        (1_790.0, 1_910.0, -1_800.0),
        (-18_400.0, -18_290.0, 0.0),  # no quarter of an hour
        (-20_000.0, -15_000.0, 0.0),  # several fit
        (-100_000.0, -99_900.0, 0.0),  # more than a day
    ],
)
def test_only_the_one_shift_by_a_time_zone_is_found(
    first_s: float, last_s: float, shift_s: float
) -> None:
    assert find_clock_shift(first_s, last_s, 0.0, 100.0) == shift_s
