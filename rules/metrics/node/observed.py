"""The power of an observed job: arithmetic on the readings of its feeds in a declared window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.table import Floats, Ints
from rules.metrics.energy import MetricsError, cumulate_interval_means
from rules.metrics.power.profile import average_minutes

TOLERANCE = 1e-6
"""Relative: another machine can round differently."""
MINUTE_S = 60.0
"""Longer steps between readings do not show the mean over a minute."""
MAX_GAP_STEPS = 5
"""A time without readings that is longer than so many usual steps is a gap."""


@dataclass(frozen=True)
class FeedReadings:
    """The readings of one feed, n >= 2."""

    times_ns: Ints
    """Since 1970-01-01 UTC, rising, shape (n,)."""
    power_w: Floats
    """Shape (n,), finite."""
    is_mean: bool
    """Whether a reading is the mean since the one before it, rather than the power at its
    instant."""

    def cumulate(self, zero_ns: int, at_s: Floats) -> Floats:
        """Energy in J from the first reading to each of the times `at_s` in s since `zero_ns`,
        shape (k,). They lie between the first and the last reading."""
        times_s = (self.times_ns - zero_ns) / 1e9
        if self.is_mean:
            energy_j: Floats = np.interp(
                at_s, times_s, cumulate_interval_means(times_s, self.power_w)
            )
            return energy_j
        steps_j = (self.power_w[1:] + self.power_w[:-1]) / 2 * np.diff(times_s)
        before = np.clip(np.searchsorted(times_s, at_s, side="right") - 1, 0, len(times_s) - 2)
        power_w = np.interp(at_s, times_s, self.power_w)
        inside_j = (self.power_w[before] + power_w) / 2 * (at_s - times_s[before])
        total_j: Floats = np.concatenate(([0.0], np.cumsum(steps_j)))[before] + inside_j
        return total_j

    def measure_gap_s(self, start_ns: int, end_ns: int) -> float:
        """The time in the window without readings: all of it before the first and after the last
        one, and steps of more than `MAX_GAP_STEPS` times the usual one."""
        steps_ns = np.diff(self.times_ns)
        lows_ns, highs_ns = self.times_ns[:-1].clip(start_ns), self.times_ns[1:].clip(max=end_ns)
        is_long = steps_ns > MAX_GAP_STEPS * np.median(steps_ns)
        inside_ns = int((highs_ns - lows_ns).clip(0)[is_long].sum())
        first_ns, last_ns = int(self.times_ns[0]), int(self.times_ns[-1])
        outside_ns = max(min(first_ns, end_ns) - start_ns, 0) + max(
            end_ns - max(last_ns, start_ns), 0
        )
        return (inside_ns + outside_ns) / 1e9


@dataclass(frozen=True)
class ObservedFigures:
    """The power of all feeds together in the window. None: not defined."""

    seconds: float
    energy_j: float
    mean_w: float
    median_w: float
    max_w: float
    """This and the median are of the means over 1 s."""
    p99_60s_w: float | None
    """This and the next are None in a window of less than a minute, and if the steps between
    readings are longer."""
    max_60s_w: float | None
    joules_per_item: float | None


def compute_observed_figures(
    feeds: Sequence[FeedReadings],
    start_ns: int,
    end_ns: int,
    items: float | None,
    most_step_s: float = MINUTE_S,
) -> ObservedFigures:
    """The figures of a window from `start_ns` to `end_ns` since 1970. `items` is the work done in
    it. Feeds whose usual step is longer than `most_step_s` have no figures of minutes.

    Raises MetricsError unless it has a second at least and the readings of each feed cover it.
    """
    seconds = (end_ns - start_ns) / 1e9
    if seconds < 1:
        raise MetricsError(f"the window is {seconds:g} s long, and power needs 1 s at least")
    for feed in feeds:
        if len(feed.times_ns) < 2 or np.any(np.diff(feed.times_ns) <= 0):
            raise MetricsError("a feed has fewer than two readings, or times that do not rise")
        if feed.times_ns[0] > start_ns or feed.times_ns[-1] < end_ns:
            raise MetricsError("the readings of a feed do not cover the window")
    at_s = np.append(np.arange(0, np.floor(seconds) + 1), seconds)
    total_j = np.sum([feed.cumulate(start_ns, at_s) for feed in feeds], axis=0)
    energy_j = float(total_j[-1] - total_j[0])
    # The last one may be shorter than a second.
    power_w = np.diff(total_j[:-1])
    step_s = max(float(np.median(np.diff(feed.times_ns))) / 1e9 for feed in feeds)
    minutes_w = average_minutes(power_w) if step_s <= most_step_s else power_w[:0]
    return ObservedFigures(
        seconds,
        energy_j,
        energy_j / seconds,
        float(np.median(power_w)),
        float(power_w.max()),
        float(np.percentile(minutes_w, 99)) if len(minutes_w) else None,
        float(minutes_w.max()) if len(minutes_w) else None,
        energy_j / items if items else None,
    )
