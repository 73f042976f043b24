"""The energy counter of an accelerator at its changes.

A counter is refreshed once in a period, such as 100 ms on an H200. If it is read once in about the
same time, and the reads lie on the refresh, a read finds the latest value or the one before by
chance. A read that finds the same value again shows that the following values are one period old,
until a step of two periods.

A late read is less than a period before the next one, so both may find the same value. It says
nothing about the age of the following values.
"""

from itertools import pairwise

import numpy as np

from rules.bundle_format.table import Floats

MOST_REPEATS = 0.25
"""With a larger share of repeated values, the counter is refreshed less often than it is read, so a
repeated value says nothing about the age of the next one."""
LARGEST_JITTER = 0.1
"""Two reads on the refresh are one period apart, within this share of it. If they are closer, the
first of them is late."""
LEAST_ON_REFRESH = 0.02
"""Least share of reads that find a value again one period later, if the reads lie on the refresh.
The two committed boards that the correction improves have 6 % and more, all others less than 1 %.
There, late reads can be the cause, because older samples do not say when the counter was read."""
LARGEST_MISFIT = 0.5
"""A step whose energy is further from that of a period more or less than its time has, in periods,
does not tell the age of a value."""


def find_counter_changes(
    times_s: Floats, counter_j: Floats, power_j: Floats, trust_late_reads: bool = False
) -> tuple[Floats, Floats]:
    """When the counter had which value, given c reads in time order, and the energy by the power
    readings until each of them, all of shape (c,).

    The result has the first read of every value, or the second one if the first is late, and the
    first and the last read of all. Reads of a counter that stands still are kept.
    The time of a value that is one period old is one period earlier than its read. With
    `trust_late_reads`, late reads count as reads on time, as in rule book 1.8.0.
    """
    # Without power there is no energy to add.
    is_repeat = np.concatenate(([False], (np.diff(counter_j) == 0) & (np.diff(power_j) > 0)))
    is_often_refreshed = is_repeat.sum() < MOST_REPEATS * len(counter_j)
    if is_often_refreshed:
        # A counter that keeps its value for longer stands still.
        padded = np.pad(is_repeat, 1)
        is_repeat &= ~padded[:-2] & ~padded[2:]
    if not is_repeat.any():
        return times_s, counter_j
    kept, lies_on_refresh = ~is_repeat, is_often_refreshed
    if is_often_refreshed and not trust_late_reads:
        steps_s = np.diff(times_s)
        jitter = steps_s / np.median(steps_s[kept[1:]]) - 1
        is_on_time = is_repeat[1:] & (np.abs(jitter) <= LARGEST_JITTER)
        lies_on_refresh = is_on_time.mean() >= LEAST_ON_REFRESH
        after_late = 1 + np.flatnonzero(is_repeat[1:] & (jitter < -LARGEST_JITTER))
        kept[after_late] = True
        # The values must span the time of the reads, so the first read stays.
        kept[after_late[after_late > 1] - 1] = False
    at_s, at_j = times_s[kept], counter_j[kept]
    if lies_on_refresh and len(at_s) > 2:
        at_s = at_s - _find_ages_s(at_s, at_j, power_j[kept])
        later = np.concatenate(([True], at_s[1:] > at_s[0]))
        at_s, at_j = at_s[later], at_j[later]
    if not kept[-1]:
        # The counter may have stopped, so its last value holds until the last read.
        at_s, at_j = np.append(at_s, times_s[-1]), np.append(at_j, counter_j[-1])
    # A jump of the clock could reverse two times.
    return (at_s, at_j) if (np.diff(at_s) > 0).all() else (times_s, counter_j)


def _find_ages_s(at_s: Floats, at_j: Floats, power_j: Floats) -> Floats:
    """By how much the n values that changed are older than the freshest ones, 0 or one period in s,
    shape (n,)."""
    steps_s, steps_j, readings_j = np.diff(at_s), np.diff(at_j), np.diff(power_j)
    period_s = float(np.median(steps_s))
    # How much more energy a step has than the power readings give, in periods.
    excess = np.zeros(len(steps_s))
    periods_j = readings_j / steps_s * period_s
    np.divide(steps_j - readings_j, periods_j, out=excess, where=periods_j > 0)
    # A value that is read again ages the next ones, and a step of two periods ends that.
    aging = np.flatnonzero((steps_s > 1.5 * period_s) & (np.abs(excess + 1) < LARGEST_MISFIT))
    misfits = np.abs(excess - 1)
    ages_s = np.zeros(len(at_s))
    for begin, end in pairwise([-1, *aging.tolist(), len(steps_s)]):
        between = misfits[begin + 1 : end]
        if len(between) and between.min() < LARGEST_MISFIT:
            ages_s[begin + 1 : begin + 2 + int(between.argmin())] = period_s
        elif end == len(steps_s) and begin >= 0:
            ages_s[begin + 1 :] = period_s
    # The values must span the time of the reads, so the first and the last keep theirs.
    ages_s[0] = ages_s[-1] = 0.0
    return ages_s
