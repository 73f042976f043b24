"""The readings of one accelerator, and the energy that they give over intervals: by the power
samples, and by the counter."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from rules.bundle_format.table import Floats, Mask, Table


class MetricsError(ValueError):
    """The evidence does not allow a figure to be computed; the message says why and where."""


@dataclass(frozen=True)
class Trace:
    """The usable readings of one accelerator: times in s since the first sample, power in W,
    counter in J."""

    read_s: Floats
    """The times of all its samples, usable or not."""
    power_times_s: Floats
    power_w: Floats
    counter_times_s: Floats
    counter_j: Floats
    zero_ns: int
    averaged: bool
    """Whether the power is the board's own running average because it has no instantaneous
    reading."""


def trace(samples: Table) -> Trace:
    """The trace of one accelerator's samples. Raises MetricsError where times do not rise or there
    are too few readings."""
    times_ns = samples.ints("read_ns")
    if len(times_ns) < 2 or bool(np.any(np.diff(times_ns) <= 0)):
        raise MetricsError(
            "the samples of an accelerator are fewer than two, or their read_ns does not rise"
        )
    seconds = (times_ns - times_ns[0]) / 1e9
    averaged = bool(np.isnan(samples.floats("power_mw")).all())
    power = samples.floats("power_avg_mw" if averaged else "power_mw")
    counter = samples.floats("energy_mj")
    has_power, has_counter = _where_finite(power), _where_finite(counter)
    if len(power[has_power]) < 2:
        raise MetricsError("fewer than two power readings of an accelerator succeeded")
    return Trace(
        seconds,
        seconds[has_power],
        power[has_power] / 1e3,
        seconds[has_counter],
        counter[has_counter] / 1e3,
        int(times_ns[0]),
        averaged,
    )


def _where_finite(values: Floats) -> "slice | Mask":
    """Where readings succeeded; a slice, which copies nothing, where all did."""
    finite = np.isfinite(values)
    return slice(None) if finite.all() else finite


def trapezoid_energies(times_s: Floats, power_w: Floats, starts: Floats, ends: Floats) -> Floats:
    """Energy in J of piecewise linear power over each of m >= 1 intervals, shape (m,).

    Raises MetricsError where they leave the samples.
    """
    _covered(times_s, starts, ends)
    step = times_s[1:] - times_s[:-1]
    cumulated = np.concatenate(([0.0], np.cumsum(step * (power_w[1:] + power_w[:-1]) / 2)))
    slope = (power_w[1:] - power_w[:-1]) / step

    def until(t: Floats) -> Floats:
        i = np.minimum(np.maximum(np.searchsorted(times_s, t, side="right") - 1, 0), len(step) - 1)
        since = t - times_s[i]
        return cast(Floats, cumulated[i] + since * (power_w[i] + slope[i] * since / 2))

    return until(ends) - until(starts)


def counter_energies(
    times_s: Floats, counter_j: Floats, starts: Floats, ends: Floats
) -> Floats | None:
    """Energy in J by the counter over each of m >= 1 intervals, shape (m,), None where there is no
    counter.

    Raises MetricsError where the intervals leave its readings.
    """
    if len(times_s) < 2:
        return None
    _covered(times_s, starts, ends)
    return np.interp(ends, times_s, counter_j) - np.interp(starts, times_s, counter_j)


def _covered(times_s: Floats, starts: Floats, ends: Floats) -> None:
    if starts.min() < times_s[0] or ends.max() > times_s[-1]:
        raise MetricsError("batch windows reach outside the samples of their accelerator")
