"""The distribution of a run's power, its course over time, and an assumed share of the node.

`rules/metrics/run.py` turns power into energy; here nothing is integrated. Powers are in W, times
in s.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEAN_S = 60
"""Length in steps of 1 s of the means that circuits are planned with."""

NODE_OVERHEAD_W = 100.0
"""What Mayr et al. 2026, section 5, add per node to the power of its accelerators: an assumption,
not measured."""
NODE_ACCELERATORS = 4
"""How many accelerators share it: a node measurement there covers four."""


@dataclass(frozen=True)
class PowerSpread:
    """How power readings are spread, in W."""

    min_w: float
    max_w: float
    mean_w: float
    """Of the readings: it is not the mean power of a run, which comes from energy."""
    p5_w: float
    p25_w: float
    median_w: float
    p75_w: float
    p95_w: float


@dataclass(frozen=True)
class Bin:
    """The readings between two times: the lowest, the highest and how many there are."""

    from_s: float
    to_s: float
    low_w: float
    high_w: float
    n: int


def spread(power_w: Floats) -> PowerSpread:
    """How readings in W, shape (n,) with n >= 1, are spread."""
    percentiles = np.percentile(power_w, (5, 25, 50, 75, 95)).tolist()
    return PowerSpread(
        float(power_w.min()), float(power_w.max()), float(power_w.mean()), *percentiles
    )


def envelope(times_s: Floats, power_w: Floats, bins: int) -> Iterator[Bin]:
    """At most `bins` bins of equal length over rising times, shape (n,) with n >= 2. Bins without a
    reading are left out.

    Every low and high is a reading: nothing is averaged, smoothed or filled.
    """
    begin_s, end_s = float(times_s[0]), float(times_s[-1])
    width_s = (end_s - begin_s) / bins
    # The last reading lies on the end of the last bin, and belongs to it.
    numbers = np.minimum(((times_s - begin_s) / width_s).astype(np.int64), bins - 1)
    # The times rise, so the readings of a bin are neighbours. -1 makes the first bin begin.
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    lows_w, highs_w = np.minimum.reduceat(power_w, starts), np.maximum.reduceat(power_w, starts)
    counts = np.diff(starts, append=len(numbers))
    for number, low_w, high_w, n in zip(numbers[starts], lows_w, highs_w, counts, strict=True):
        yield Bin(
            from_s=begin_s + float(number) * width_s,
            to_s=begin_s + (float(number) + 1) * width_s,
            low_w=float(low_w),
            high_w=float(high_w),
            n=int(n),
        )


def average_around(
    times_s: Floats, power_w: Floats, centers_s: Floats, width_s: float = 1.0
) -> Floats:
    """The mean of the readings within half of `width_s` of each center, shape (k,); NaN where there
    is no reading. `times_s` rise, shape (n,)."""
    cumulated_w = np.concatenate(([0.0], np.cumsum(power_w)))
    starts = np.searchsorted(times_s, centers_s - width_s / 2, side="left")
    ends = np.searchsorted(times_s, centers_s + width_s / 2, side="right")
    counts = ends - starts
    means_w: Floats = np.full(len(centers_s), np.nan)
    np.divide(cumulated_w[ends] - cumulated_w[starts], counts, out=means_w, where=counts > 0)
    return means_w


def average_minutes(power_w: Floats) -> Floats:
    """All means over 60 s of powers on a grid of 1 s, shape (k,); k is 0 where it is shorter."""
    if len(power_w) < MEAN_S:
        return np.empty(0)
    cumulated = np.concatenate(([0.0], np.cumsum(power_w)))
    means_w: Floats = (cumulated[MEAN_S:] - cumulated[:-MEAN_S]) / MEAN_S
    return means_w


def share_of_control(mean_power_w: float, control_median_w: float) -> float:
    """The mean power of a run as a share of the median power of a control run, both in W per
    accelerator."""
    return mean_power_w / control_median_w


def with_node_overhead(
    items_per_s: float,
    power_w: float,
    node_w: float = NODE_OVERHEAD_W,
    accelerators: int = NODE_ACCELERATORS,
) -> float:
    """Items/J of a throughput and a power per accelerator, with its share of the power that a node
    is assumed to draw beside its accelerators."""
    return items_per_s / (power_w + node_w / accelerators)
