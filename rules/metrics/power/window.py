"""Energy of a series of power readings over a window that another program states."""

from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats

NORMAL_95 = 1.96
"""The 97.5 % quantile of the normal distribution."""
_DEVIATION_VARIANCE = 1.5
"""The variance of a reading less the mean of its two neighbours, in units of the variance of one
reading, where readings are independent."""
_GAP_STEPS = 3
"""From how many typical steps on a step between two readings is a gap."""


@dataclass(frozen=True)
class WindowEnergy:
    """The energy of one series over one window. Times are in s, on the clock of the series."""

    energy_j: float
    """By the trapezoid, with power interpolated at the edges and constant beyond the series."""
    low_j: float
    high_j: float
    """The 95 % interval for what happens between readings and beyond them, NaN for fewer than three
    readings in the window. The accuracy of the meter is not in it."""
    duration_s: float
    readings_mean_w: float
    """The plain mean of the readings in the window, NaN if there is none."""
    readings: int
    """In the window."""
    covered_share: float
    """Share of the window between the first and the last reading of the series."""
    largest_gap_s: float
    missing_s: float
    """Time in the window that lies in gaps, beyond a typical step each."""
    lowest_w: float
    highest_w: float
    """The lowest and the highest reading in the window, NaN if there is none."""
    zero_readings: int

    @property
    def mean_power_w(self) -> float:
        """Energy over duration."""
        return self.energy_j / self.duration_s


def integrate_window(
    times_s: Floats, power_w: Floats, start_s: float, end_s: float
) -> WindowEnergy:
    """The energy of the readings `power_w` at `times_s`, both of shape (k,), over a window.

    Raises ValueError where a series has no reading or a window no length.
    """
    finite = np.isfinite(power_w) & np.isfinite(times_s)
    order = np.argsort(times_s[finite], kind="stable")
    times_s, power_w = times_s[finite][order], power_w[finite][order]
    if not len(times_s):
        raise ValueError("the series has no reading")
    if not end_s > start_s:
        raise ValueError("the window has no length")
    is_inside = (times_s >= start_s) & (times_s <= end_s)
    inside_s, inside_w = times_s[is_inside], power_w[is_inside]
    knots_s = np.concatenate(([start_s], inside_s, [end_s]))
    # `interp` holds the first and the last reading beyond the series.
    edges_w = np.interp([start_s, end_s], times_s, power_w)
    knots_w = np.concatenate((edges_w[:1], inside_w, edges_w[1:]))
    energy_j = float(np.sum(np.diff(knots_s) * (knots_w[1:] + knots_w[:-1]) / 2))
    first_s, last_s = float(times_s[0]), float(times_s[-1])
    covered_s = max(0.0, min(end_s, last_s) - max(start_s, first_s))
    uncovered_s = max(0.0, end_s - start_s - covered_s)
    margin_j = NORMAL_95 * _estimate_error_j(inside_s, inside_w)
    margin_j += float(uncovered_s) * (
        float(np.ptp(inside_w)) if len(inside_w) else float(edges_w.max())
    )
    steps_s = np.diff(inside_s)
    typical_s = float(np.median(steps_s)) if len(steps_s) else 0.0
    gaps_s = steps_s[steps_s > _GAP_STEPS * typical_s] if typical_s > 0 else steps_s[:0]
    return WindowEnergy(
        energy_j=energy_j,
        low_j=energy_j - margin_j,
        high_j=energy_j + margin_j,
        duration_s=end_s - start_s,
        readings_mean_w=float(inside_w.mean()) if len(inside_w) else float("nan"),
        readings=len(inside_w),
        covered_share=covered_s / (end_s - start_s),
        largest_gap_s=float(steps_s.max()) if len(steps_s) else 0.0,
        missing_s=float(np.sum(gaps_s - typical_s)),
        lowest_w=float(inside_w.min()) if len(inside_w) else float("nan"),
        highest_w=float(inside_w.max()) if len(inside_w) else float("nan"),
        zero_readings=int(np.count_nonzero(inside_w == 0)),
    )


def _estimate_error_j(times_s: Floats, power_w: Floats) -> float:
    """One standard error of the trapezoid in J: how far each reading lies from the line between
    its neighbours shows how much power changes between readings."""
    if len(times_s) < 3:
        return float("nan")
    spans_s = times_s[2:] - times_s[:-2]
    is_spread = spans_s > 0
    shares = np.zeros_like(spans_s)
    np.divide(times_s[1:-1] - times_s[:-2], spans_s, out=shares, where=is_spread)
    deviations_w = power_w[1:-1] - (power_w[:-2] + shares * (power_w[2:] - power_w[:-2]))
    weighted_j = deviations_w[is_spread] * spans_s[is_spread] / 2
    return float(np.sqrt(np.sum(weighted_j**2) / _DEVIATION_VARIANCE))


def counter_over_window(
    times_s: Floats, counter_j: Floats, start_s: float, end_s: float
) -> tuple[float, float, float]:
    """The rise of an energy counter in J over a window, interpolated at its edges, and the lowest
    and highest rise that the readings around the edges allow.

    `times_s` and `counter_j` have shape (k,). Raises ValueError where the counter falls or does
    not cover the window.
    """
    finite = np.isfinite(counter_j) & np.isfinite(times_s)
    order = np.argsort(times_s[finite], kind="stable")
    times_s, counter_j = times_s[finite][order], counter_j[finite][order]
    if len(times_s) < 2 or times_s[0] > start_s or times_s[-1] < end_s:
        raise ValueError("the readings of the energy counter do not cover the window")
    if bool(np.any(np.diff(counter_j) < 0)):
        raise ValueError("the energy counter falls")
    start_j, end_j = np.interp([start_s, end_s], times_s, counter_j)
    # The readings before and after an edge bound the counter at the edge.
    before = np.searchsorted(times_s, [start_s, end_s], side="right") - 1
    after = np.searchsorted(times_s, [start_s, end_s], side="left")
    lowest_j = counter_j[before[1]] - counter_j[after[0]]
    highest_j = counter_j[after[1]] - counter_j[before[0]]
    return float(end_j - start_j), float(lowest_j), float(highest_j)


def find_clock_shift(first_s: float, last_s: float, start_s: float, end_s: float) -> float:
    """The shift of a whole number of quarters of an hour, in s, that moves a series onto a window
    which it otherwise misses; 0 if it does not miss it, or if none or more than one does.

    The time zones of the world differ by such shifts.
    """
    quarter_s, most_quarters = 900, 56
    length_s = end_s - start_s
    if min(last_s, end_s) - max(first_s, start_s) > 0:
        return 0.0
    fitting = [
        float(quarters * quarter_s)
        for quarters in range(-most_quarters, most_quarters + 1)
        if min(last_s + quarters * quarter_s, end_s) - max(first_s + quarters * quarter_s, start_s)
        > 0.95 * length_s
    ]
    return fitting[0] if len(fitting) == 1 else 0.0
