"""The response of a sensor, from refreshes that are known by definition: some are missed, and their
times are known no better than those of reads."""

from collections.abc import Callable

import numpy as np
import pytest

from rules.bundle_format.table import Floats
from rules.metrics.sensor.response import (
    FEWEST_VALUES,
    Pulses,
    SensorResponse,
    find_refreshes,
    fit_counter,
    fit_power,
)

PERIOD_S, WINDOW_S, DELAY_S = 0.1, 0.04, 0.02
OFF_W, ON_W = 100.0, 600.0
STARTS_S = np.arange(0.5, 9.0, 1.03)
PULSES = STARTS_S, STARTS_S + 0.5


def integrate(times_s: Floats) -> Floats:
    """Energy in J from 0 s to each of n times, shape (n,): a board without lag."""
    loads_s = np.clip(times_s[:, None] - STARTS_S, 0.0, 0.5).sum(axis=1)
    return OFF_W * times_s + (ON_W - OFF_W) * loads_s


@pytest.mark.parametrize(
    ("fit", "window_s"), [(fit_power, WINDOW_S), (fit_counter, PERIOD_S)], ids=["power", "counter"]
)
def test_missed_refreshes_and_uncertain_times_change_no_response(
    fit: Callable[[Pulses, Floats, Floats], SensorResponse | None], window_s: float
) -> None:
    number = np.arange(1, 90)
    times_s = PERIOD_S * number[number % 4 != 0]
    ends_s = times_s - DELAY_S
    means_w = (integrate(ends_s) - integrate(ends_s - WINDOW_S)) / WINDOW_S
    values = integrate(ends_s) if fit is fit_counter else means_w
    found_s = times_s + np.random.default_rng(5).uniform(-0.002, 0.002, len(times_s))
    response = fit(PULSES, found_s, values)
    assert response is not None
    assert response.period_s == pytest.approx(PERIOD_S, abs=0.001)
    assert response.window_s == pytest.approx(window_s, abs=0.006)
    assert response.delay_s == pytest.approx(DELAY_S, abs=0.003)
    assert (response.off_w, response.on_w) == pytest.approx((OFF_W, ON_W), rel=0.01)
    assert response.unexplained_share < 0.008


def test_refresh_is_between_the_last_read_of_the_old_value_and_the_first_of_the_new() -> None:
    starts_s = np.array([0.0, 1.0, 2.0, 3.0])
    times_s, values = find_refreshes(starts_s, starts_s + 0.5, np.array([5.0, 5.0, 6.0, 6.0]))
    assert (times_s.tolist(), values.tolist()) == ([(1.0 + 2.5) / 2], [6.0])


@pytest.mark.parametrize(
    ("values", "is_fitted"), [(FEWEST_VALUES, True), (FEWEST_VALUES - 1, False)]
)
def test_fewest_values_are_fitted_and_fewer_are_not(values: int, is_fitted: bool) -> None:
    times_s = PERIOD_S * np.arange(1, values + 1)
    power_w = (integrate(times_s) - integrate(times_s - WINDOW_S)) / WINDOW_S
    assert (fit_power(PULSES, times_s, power_w) is not None) is is_fitted


def test_load_that_does_not_reach_the_readings_gives_no_response() -> None:
    times_s = PERIOD_S * np.arange(40)
    later = PULSES[0] + 100, PULSES[1] + 100
    assert fit_power(later, times_s, np.linspace(100, 200, 40)) is None
