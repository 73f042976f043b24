"""Means, medians and geometric means of a study, with 95 % intervals.

Every interval is computed without random numbers, or from the fixed stream of `draw_resamples`, so
that the checker gets the same interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Floats, Mask
from rules.metrics.figures import student_t95

Interval = tuple[float, float]
_Z95 = 1.959964

_SEED = 15
_RESAMPLES = 1000


@dataclass(frozen=True)
class Figure:
    """A figure and its 95 % interval; the interval is None if there are too few values."""

    value: float
    ci95: Interval | None


@dataclass(frozen=True)
class Median:
    """The median of n values."""

    n: int
    value: float
    ci95: Interval | None


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean of n positive values."""

    n: int
    value: float
    sd: float | None
    """Geometric standard deviation, a factor >= 1, with n - 1; None for one value."""
    ci95: Interval | None


def estimate_geometric_mean(values: Sequence[float] | Floats) -> GeometricMean | None:
    """The geometric mean of positive values with its interval by Student's t on the logarithms;
    None without values."""
    logs = np.log(np.asarray(values, dtype=np.float64)).tolist()
    n = len(logs)
    if n == 0:
        return None
    mean = math.fsum(logs) / n
    if n == 1:
        return GeometricMean(1, math.exp(mean), None, None)
    sd = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (n - 1))
    half_width = student_t95(n - 1) * sd / math.sqrt(n)
    return GeometricMean(
        n, math.exp(mean), math.exp(sd), (math.exp(mean - half_width), math.exp(mean + half_width))
    )


def estimate_median(values: Sequence[float] | Floats) -> Median | None:
    """The median of values with its interval from order statistics, which holds for any
    distribution; None without values. Fewer than six values have no such interval.

    Source: Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        return None
    lower = math.floor((n - _Z95 * math.sqrt(n)) / 2)
    ci95 = None if lower < 1 else (float(ordered[lower - 1]), float(ordered[n - lower]))
    return Median(n, float(np.median(ordered)), ci95)


def draw_resamples(groups: NDArray[np.intp]) -> Mask:
    """Draw bootstrap samples of groups, such as architectures, whose members depend on each other.

    `groups` has the number of the group of each of n members, from 0, shape (n,). Returns which
    members each sample holds, shape (samples, n). The samples are the same on every machine: they
    use the raw output of PCG64, which NumPy keeps stable.
    """
    return _draw_groups(int(groups.max()) + 1)[:, groups]


@lru_cache(maxsize=1)  # The tables of a setup draw the same groups one after the other.
def _draw_groups(group_count: int) -> Mask:
    """Which groups each sample holds, shape (samples, groups)."""
    count = np.uint64(group_count)
    raw = np.random.PCG64(_SEED).random_raw(_RESAMPLES * group_count).astype(np.uint64)
    # The upper half of the bits times the count, without its lower half, is below the count.
    drawn = ((raw >> np.uint64(32)) * count) >> np.uint64(32)
    present = np.zeros((_RESAMPLES, group_count), dtype=bool)
    np.put_along_axis(present, drawn.reshape(_RESAMPLES, -1).astype(np.intp), True, axis=1)
    return present


def percentile_interval(values: Floats) -> Interval | None:
    """The 95 % percentile interval of bootstrap values, of which some may be infinite; None if an
    end is infinite."""
    low, high = np.percentile(values, (2.5, 97.5), method="inverted_cdf").tolist()
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
