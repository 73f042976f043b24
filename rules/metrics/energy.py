"""The readings of one accelerator, and the energy that they give over intervals: by the power
samples, and by the counter."""

from dataclasses import dataclass

import numpy as np

from rules.bundle_format.records import NO_STAMP
from rules.bundle_format.table import Floats, Mask, Table
from rules.metrics.counter import find_counter_changes
from rules.metrics.power.readings import (
    is_averaged,
    read_average_power_w,
    read_counter_j,
    read_power_w,
)


class MetricsError(ValueError):
    """The evidence does not allow a figure to be computed; the message says why and where."""


@dataclass(frozen=True)
class Trace:
    """The readings of one accelerator over time. Times are in s since its first sample."""

    samples: Table
    """All its samples, n of them."""
    zero_ns: int
    """When the first sample was read, on the clock of the node."""
    averaged: bool
    """Whether the power is the board's own running average because it has no instantaneous
    reading."""
    read_s: Floats
    """The times of all samples, shape (n,)."""
    power_w: Floats
    """The power of all samples, shape (n,), NaN where the reading failed."""
    usable_power_times_s: Floats
    usable_power_w: Floats
    """The power readings that succeeded, and their times, both of shape (k,) with k >= 2."""
    counter_times_s: Floats
    counter_j: Floats
    """The counter at its changes (`rules.metrics.counter`) or at all reads that succeeded, both of
    shape (c,); c may be 0."""
    has_repeats: bool
    """Whether two reads in a row found the same value of the counter."""


def build_trace(samples: Table, at_changes: bool = True, trust_late_reads: bool = False) -> Trace:
    """The trace of one accelerator's samples, with the counter at its changes or at all its reads
    (`find_counter_changes`).
    Raises MetricsError where times do not rise or there are too few readings."""
    # The time of the reading and not the scheduled time: a delayed tick must not shift power in
    # time.
    times_ns = samples.ints("read_ns")
    if len(times_ns) < 2 or bool(np.any(np.diff(times_ns) <= 0)):
        raise MetricsError(
            "the samples of an accelerator are fewer than two, or their read_ns does not rise"
        )
    # Relative to the first sample while the times are integers: a double does not hold the ns of a
    # long uptime exactly.
    read_s = (times_ns - times_ns[0]) / 1e9
    averaged = is_averaged(samples)
    power_w = read_average_power_w(samples) if averaged else read_power_w(samples)
    counter_j = read_counter_j(samples)
    has_power, has_counter = _where_finite(power_w), _where_finite(counter_j)
    counter_times_s, counter_j = _read_counter_times_s(samples)[has_counter], counter_j[has_counter]
    if len(power_w[has_power]) < 2:
        raise MetricsError("fewer than two power readings of an accelerator succeeded")
    has_repeats = bool((np.diff(counter_j) == 0).any())
    if at_changes:
        power_j = _cumulate_j(read_s[has_power], power_w[has_power])
        power_j = np.interp(counter_times_s, read_s[has_power], power_j)
        counter_times_s, counter_j = find_counter_changes(
            counter_times_s, counter_j, power_j, trust_late_reads
        )
    return Trace(
        samples=samples,
        zero_ns=int(times_ns[0]),
        averaged=averaged,
        read_s=read_s,
        power_w=power_w,
        usable_power_times_s=read_s[has_power],
        usable_power_w=power_w[has_power],
        counter_times_s=counter_times_s,
        counter_j=counter_j,
        has_repeats=has_repeats,
    )


def _read_counter_times_s(samples: Table) -> Floats:
    """When the counter was read, in s since the first sample, shape (n,)."""
    read_ns = samples.ints("read_ns")
    times_ns = read_ns
    if "counter_ns" in samples.columns:
        counter_ns = samples.ints("counter_ns")
        times_ns = np.where(counter_ns == NO_STAMP, read_ns, counter_ns)
        if bool(np.any(np.diff(times_ns) <= 0) or np.any(times_ns < read_ns)):
            raise MetricsError(
                "counter_ns of an accelerator does not rise, or is before the read_ns of its row"
            )
    times_s: Floats = (times_ns - read_ns[0]) / 1e9
    return times_s


def _where_finite(values: Floats) -> "slice | Mask":
    """Where readings succeeded; a slice, which copies nothing, where all did."""
    finite = np.isfinite(values)
    return slice(None) if finite.all() else finite


def trapezoid_energies(times_s: Floats, power_w: Floats, starts: Floats, ends: Floats) -> Floats:
    """Energy in J of piecewise linear power over each of m >= 1 intervals, shape (m,).

    `times_s` and `power_w` have shape (k,) with k >= 2; starts and ends are in s, shape (m,).
    Raises MetricsError where an interval leaves the samples.
    """
    _check_covered(times_s, starts, ends)
    steps_s = times_s[1:] - times_s[:-1]
    # Energy from the first sample to each sample, so that an interval is a difference of two.
    cumulated_j = _cumulate_j(times_s, power_w)
    slopes = (power_w[1:] - power_w[:-1]) / steps_s

    def energy_until(t: Floats) -> Floats:
        # A time on a sample may belong to the step before or after it: the energy is the same. The
        # clipping keeps a time on the last sample in the last step.
        i = np.searchsorted(times_s, t, side="right") - 1
        i = np.minimum(np.maximum(i, 0), len(steps_s) - 1)
        since_s = t - times_s[i]
        return cumulated_j[i] + since_s * (power_w[i] + slopes[i] * since_s / 2)

    return energy_until(ends) - energy_until(starts)


def _cumulate_j(times_s: Floats, power_w: Floats) -> Floats:
    """Energy in J from the first of k samples to each of them, by piecewise linear power. All of
    shape (k,)."""
    steps_j = (times_s[1:] - times_s[:-1]) * (power_w[1:] + power_w[:-1]) / 2
    return np.concatenate(([0.0], np.cumsum(steps_j)))


def cumulate_interval_means(times_s: Floats, power_w: Floats) -> Floats:
    """Energy in J from the first of k readings to each of them, shape (k,). Each reading is the
    mean power of the interval that ends with it. Both arguments have shape (k,)."""
    return np.concatenate(([0.0], np.cumsum(power_w[1:] * np.diff(times_s))))


def counter_energies(
    times_s: Floats, counter_j: Floats, starts: Floats, ends: Floats
) -> Floats | None:
    """Energy in J by the counter over each of m >= 1 intervals, shape (m,), None where there is no
    counter.

    `times_s` and `counter_j` have shape (c,); starts and ends are in s, shape (m,). Raises
    MetricsError where an interval leaves the counter's readings.
    """
    # One reading gives no difference.
    if len(times_s) < 2:
        return None
    _check_covered(times_s, starts, ends)
    # Interpolated, because batches begin and end between two samples.
    return np.interp(ends, times_s, counter_j) - np.interp(starts, times_s, counter_j)


def _check_covered(times_s: Floats, starts: Floats, ends: Floats) -> None:
    # `np.interp` would take the first or last value there, and so lose energy silently.
    if starts.min() < times_s[0] or ends.max() > times_s[-1]:
        raise MetricsError("batch windows reach outside the samples of their accelerator")
