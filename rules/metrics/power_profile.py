"""Power of a run as it spreads and as it goes over time, and what a node adds to it by assumption.

`rules/metrics/run.py` turns power into energy; here nothing is integrated. Powers are in W, times
in s.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODE_OVERHEAD_W = 100.0
"""What Mayr et al. 2026, section 5, add per node to the power of its accelerators: an assumption,
not measured."""
NODE_ACCELERATORS = 4
"""How many accelerators share it: a node measurement there covers four."""
_PERCENTILES = {"p5_w": 5, "p25_w": 25, "median_w": 50, "p75_w": 75, "p95_w": 95}


@dataclass(frozen=True)
class Bin:
    """The lowest and the highest of the readings between two times, and how many they are."""

    from_s: float
    to_s: float
    low_w: float
    high_w: float
    n: int


def spread(power_w: Floats) -> dict[str, float]:
    """Minimum, percentiles, maximum and mean of readings, shape (n,), n >= 1. A mean of readings is
    not the run's mean power, which comes from energy."""
    found = {
        "min_w": float(power_w.min()),
        "max_w": float(power_w.max()),
        "mean_w": float(power_w.mean()),
    }
    values = np.percentile(power_w, list(_PERCENTILES.values()))
    return found | {name: float(value) for name, value in zip(_PERCENTILES, values, strict=True)}


def envelope(times_s: Floats, power_w: Floats, bins: int) -> Iterator[Bin]:
    """At most `bins` bins of equal length over rising times, shape (n,), n >= 2; those without a
    reading are left out.

    Every low and high is a reading: nothing is averaged, smoothed or filled.
    """
    begin, end = float(times_s[0]), float(times_s[-1])
    width = (end - begin) / bins
    of = np.minimum(((times_s - begin) / width).astype(np.int64), bins - 1)
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    lows, highs = np.minimum.reduceat(power_w, starts), np.maximum.reduceat(power_w, starts)
    counts = np.diff(starts, append=len(of))
    for number, low, high, n in zip(of[starts], lows, highs, counts, strict=True):
        yield Bin(
            begin + float(number) * width,
            begin + (float(number) + 1) * width,
            float(low),
            float(high),
            int(n),
        )


def with_node_overhead(items_per_s: float, power_w: float) -> float:
    """Items/J of a throughput and a power per accelerator, with its share of `NODE_OVERHEAD_W`
    added (assumed)."""
    return items_per_s / (power_w + NODE_OVERHEAD_W / NODE_ACCELERATORS)
