"""The averaging window and the delay of a power sensor, from its readings of a known load.

The model: a sensor refreshes its value once per period. The value is the mean power over a window
that ends a delay before the refresh. Power rises from its level without load to that with load
exponentially. An energy counter is treated as its steps over the time between them. If its window
is as long as its period, it covers all of the time.

Method: Yang, Adamek and Armour, Accurate and Convenient Energy Measurements for GPUs, SC24
(arXiv 2312.02741), who find the window of the sensor with a square wave of load.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from rules.bundle_format.table import Floats, Mask
from rules.metrics.sensor.load_wave import LoadWave

SHORTEST_WINDOW_S = 0.001
"""A window of less is treated as one instant."""
WINDOWS_S = np.geomspace(SHORTEST_WINDOW_S, 1.6, 24)
DELAYS_S = np.linspace(-0.025, 0.2, 19)
RISES_S = np.array([0.0, 0.01, 0.03, 0.06, 0.12, 0.5, 1.0])
"""The grid with which the search begins."""
ROUNDS = 14
"""Rounds of the search, each with 0.7 of the distances of the one before."""
FEWEST_VALUES = 30
"""A fit of three times and two levels to fewer values says nothing."""
COARSE_VALUES, MOST_VALUES = 300, 1_500
"""Of more values, the first grid and the whole fit use evenly spread ones."""


Pulses = tuple[Floats, Floats]
"""Start and end in s of each pulse of the load, both of shape (p,)."""


@dataclass(frozen=True)
class SensorResponse:
    """What a sensor does with power, as fitted to its readings of a known load."""

    values: int
    """Refreshed values that the fit uses."""
    period_s: float
    """Mean time between two refreshes."""
    window_s: float
    delay_s: float
    """From the end of the window to the refresh. Negative if a stamp is earlier than that end."""
    rise_s: float
    """Time constant with which the power follows the load."""
    off_w: float
    on_w: float
    unexplained_share: float
    """Standard deviation of the residuals as a share of `on_w` - `off_w`."""


def find_refreshes(starts_s: Floats, ends_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """When a sensor that was read n times changed its value, and the new value, both of shape (c,).

    A read starts and ends at `starts_s` and `ends_s`, both of shape (n,). The change is taken to be
    in the middle between the last read of the old value and the first one of the new value.
    """
    changed = np.flatnonzero(np.diff(values)) + 1
    return (starts_s[changed - 1] + ends_s[changed]) / 2, values[changed]


def fit_power(pulses: Pulses, refreshes_s: Floats, power_w: Floats) -> SensorResponse | None:
    """The response of a power sensor whose value changed to `power_w` at `refreshes_s`, both of
    shape (n,). None if the values are too few or the load does not show in them."""
    if len(refreshes_s) < FEWEST_VALUES:
        return None
    steps_s = np.diff(refreshes_s)
    period_s = float(steps_s[_is_single(steps_s)].mean())
    return _fit(pulses, refreshes_s, power_w, period_s)


def fit_counter(pulses: Pulses, refreshes_s: Floats, energy_j: Floats) -> SensorResponse | None:
    """The response of an energy counter that changed to `energy_j` at `refreshes_s`, both of shape
    (n,). None as for `fit_power`."""
    if len(refreshes_s) < FEWEST_VALUES:
        return None
    steps_s = np.diff(refreshes_s)
    single = _is_single(steps_s)
    # The time between two refreshes is known no better than that between two reads, and its mean
    # much better.
    period_s = float(steps_s[single].mean())
    power_w = np.diff(energy_j)[single] / period_s
    return _fit(pulses, refreshes_s[1:][single], power_w, period_s)


def _is_single(steps_s: Floats) -> Mask:
    """Which of n times between two changes, shape (n,), are one period. A longer one has a refresh
    that was missed or that did not change the value."""
    median_s = np.median(steps_s)
    single: Mask = np.abs(steps_s - median_s) < median_s / 2
    return single


def _fit(
    pulses: Pulses, refreshes_s: Floats, power_w: Floats, period_s: float
) -> SensorResponse | None:
    """Search the least squares of the residuals over a grid, and then closer and closer to it."""
    if len(refreshes_s) < FEWEST_VALUES or not len(pulses[0]):
        return None
    values = _spread(refreshes_s, power_w, COARSE_VALUES)
    fit = _search(pulses, values, RISES_S, product(WINDOWS_S, DELAYS_S))
    values = _spread(refreshes_s, power_w, MOST_VALUES)
    ratio, delay_step_s = WINDOWS_S[1] / WINDOWS_S[0], DELAYS_S[1] - DELAYS_S[0]
    rise_step_s = max(RISES_S[2], fit.rise_s / 2)
    steps = np.linspace(-1.0, 1.0, 5)
    for _ in range(ROUNDS):
        windows_s = np.maximum(fit.window_s * ratio**steps, SHORTEST_WINDOW_S)
        # The middle of the window is known best, so a longer window ends later.
        middles_s = fit.delay_s + fit.window_s / 2 + delay_step_s * steps
        pairs = [(w, middle - w / 2) for w, middle in product(windows_s, middles_s)]
        rises_s = np.maximum(fit.rise_s + rise_step_s * steps, 0.0)
        fit = _search(pulses, values, rises_s, pairs)
        ratio, delay_step_s, rise_step_s = ratio**0.7, 0.7 * delay_step_s, 0.7 * rise_step_s
    span_w = fit.on_w - fit.off_w
    if span_w <= 0:
        return None
    return SensorResponse(
        values=len(values[0]),
        period_s=period_s,
        window_s=fit.window_s,
        delay_s=fit.delay_s,
        rise_s=fit.rise_s,
        off_w=fit.off_w,
        on_w=fit.on_w,
        unexplained_share=(fit.squares_w2 / len(values[0])) ** 0.5 / span_w,
    )


def _spread(refreshes_s: Floats, power_w: Floats, most: int) -> tuple[Floats, Floats]:
    """At most so many of n refreshes and their powers, both of shape (n,), evenly spread."""
    stride = -(-len(refreshes_s) // most)
    return refreshes_s[::stride], power_w[::stride]


@dataclass(frozen=True, order=True)
class _Fit:
    squares_w2: float
    """Sum of the squared residuals."""
    window_s: float
    delay_s: float
    rise_s: float
    off_w: float
    on_w: float


def _search(
    pulses: Pulses,
    values: tuple[Floats, Floats],
    rises_s: Floats,
    windows_and_delays_s: Iterable[tuple[float, float]],
) -> _Fit:
    """The fit of least squares over a grid. `values` are n refreshes in s and the power in W at
    each, both of shape (n,)."""
    refreshes_s, power_w = values
    waves = [(rise_s, LoadWave(*pulses, rise_s)) for rise_s in rises_s.tolist()]
    fits: list[_Fit] = []
    for window_s, delay_s in windows_and_delays_s:
        ends_s = refreshes_s - delay_s
        for rise_s, wave in waves:
            load = wave.compute_means(ends_s - window_s, ends_s)
            squares_w2, off_w, on_w = _fit_levels(load, power_w)
            fits.append(_Fit(squares_w2, float(window_s), float(delay_s), rise_s, off_w, on_w))
    return min(fits)


def _fit_levels(load: Floats, power_w: Floats) -> tuple[float, float, float]:
    """The linear regression of n powers on the load, both of shape (n,): the sum of squared
    residuals in W², and the power at a load of 0 and of 1."""
    mean_load, mean_w = float(load.mean()), float(power_w.mean())
    offsets = load - mean_load
    variance = float(offsets @ offsets)
    span_w = float(offsets @ power_w) / variance if variance else 0.0
    residuals_w = power_w - mean_w - span_w * offsets
    off_w = mean_w - span_w * mean_load
    return float(residuals_w @ residuals_w), off_w, off_w + span_w
