"""Energy and power of readings over time."""

from dataclasses import replace

import numpy as np

from rules.bundle_format.table import Floats, Ints
from rules.metrics.energy import cumulate_interval_means
from rules.power_logs.records import ENERGY, POWER, Interval, PowerLog, Series

MOST_REPEATS = 100
"""How often a held reading is repeated, on average."""
_MOST_HELD = 2_000_000
"""And how many readings there are of all together."""


def cumulate(times_s: Floats, power_w: Floats, interval: Interval) -> Floats:
    """Energy in J from the first of n readings to each of them, shape (n,): the trapezoid between
    instants, or the sum of power times interval. Both arguments have shape (n,)."""
    if interval is Interval.MEAN_BEFORE:
        return cumulate_interval_means(times_s, power_w)
    held_w = power_w[:-1]
    if interval is Interval.INSTANT:
        held_w = (held_w + power_w[1:]) / 2
    return np.concatenate(([0.0], np.cumsum(held_w * np.diff(times_s))))


def integrate(times_s: Floats, power_w: Floats, interval: Interval) -> float:
    """Energy in J from the first of n readings to the last."""
    return float(cumulate(times_s, power_w, interval)[-1]) if len(times_s) else 0.0


def sum_feeds(log: PowerLog) -> tuple[Ints, Floats] | None:
    """Times in ns and power in W of all feeds together, both of shape (m,): at all times of
    readings that every feed covers. None if the feeds have no time in common."""
    if len(log.series) == 1:
        return log.series[0].times_ns, log.series[0].power_w
    begin = max(int(series.times_ns[0]) for series in log.series)
    end = min(int(series.times_ns[-1]) for series in log.series)
    if begin >= end:
        return None
    times_ns = np.unique(np.concatenate([series.times_ns for series in log.series]))
    times_ns = times_ns[(times_ns >= begin) & (times_ns <= end)]
    total_w = np.zeros(len(times_ns))
    for series in log.series:
        power_w = series.power_w
        if log.interval is Interval.INSTANT:
            zero_ns = series.times_ns[0]
            total_w += np.interp((times_ns - zero_ns) / 1e9, series.times_s, power_w)
        elif log.interval is Interval.MEAN_BEFORE:
            total_w += power_w[np.searchsorted(series.times_ns, times_ns, side="left")]
        else:
            total_w += power_w[np.searchsorted(series.times_ns, times_ns, side="right") - 1]
    return times_ns, total_w


def derive_power(log: PowerLog, of_interval: bool) -> PowerLog:
    """The log of an energy with the mean power between its readings. The first reading has none,
    unless the log states when its interval begins."""
    series = []
    for part in log.series:
        begins = of_interval and log.begin_ns is not None
        before_ns = np.concatenate(([log.begin_ns or 0], part.times_ns[:-1]))
        steps_s = (part.times_ns - before_ns) / 1e9
        columns = {}
        for feed in part.feeds:
            energy_j = part.columns[feed, ENERGY]
            spent_j = energy_j if of_interval else np.diff(energy_j, prepend=np.nan)
            with np.errstate(divide="ignore", invalid="ignore"):
                columns[feed, POWER] = np.where(steps_s == 0, np.nan, spent_j / steps_s)
            if not of_interval:
                columns[feed, ENERGY] = energy_j
        derived = Series(part.lines, part.times_ns, columns)
        series.append(derived if begins else derived.at(np.arange(1, len(part))))
    return replace(log, series=tuple(series), interval=Interval.MEAN_BEFORE)


def hold_backwards(log: PowerLog) -> PowerLog:
    """The log of a power that lasts until the next reading, as means before each reading. A reading
    that lasts longer than most others is repeated, so that no reading seems to be missing."""
    if log.interval is not Interval.UNTIL_NEXT:
        return log
    series = tuple(map(_hold_series, log.series))
    return replace(log, series=series, interval=Interval.MEAN_BEFORE)


def _hold_series(series: Series) -> Series:
    steps_ns = np.diff(series.times_ns)
    # A pause of days in a log of milliseconds must not fill the memory.
    least_ns = steps_ns.sum() / min(MOST_REPEATS * len(steps_ns), _MOST_HELD)
    step_ns = max(int(np.median(steps_ns)), int(least_ns), 1)
    counts = -(-steps_ns // step_ns)
    rows = np.repeat(np.arange(len(steps_ns)), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    times_ns = np.minimum(series.times_ns[rows] + place * step_ns, series.times_ns[rows + 1])
    columns = {key: values[rows] for key, values in series.columns.items()}
    return Series(series.lines[rows + 1], times_ns, columns)
