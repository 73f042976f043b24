"""Intervals of figures that compare several runs, such as an energy gain.

Energy and time of one run depend on each other: a slow run usually takes more energy. `Spread`
keeps their covariance. A ratio of independent means has Fieller's interval, which is exact for
normal errors. A sum of two ratios has no exact interval: it gets that of first-order propagation of
variances. Bootstrap intervals are too narrow for few repeats: those of a ratio of three runs over
three contain the true ratio in 80 of 100 simulations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from rules.metrics.figures import Estimate, Headline, student_t95

Interval = tuple[float, float]
Basis = Literal["runs", "epochs"]
"""Between repeated runs, or only between the epochs of single runs."""


@dataclass(frozen=True)
class Spread:
    """The uncertainty of the mean J per item and of the mean s per item of a point of a sweep.
    Variances are relative: those of the means as multiples of the means, squared."""

    energy_variance: float
    time_variance: float
    covariance: float
    degrees: int
    """Degrees of freedom."""
    basis: Basis

    def combine(self, energy: float, time: float) -> float:
        """The variance of `energy` x relative J per item + `time` x relative s per item."""
        return (
            energy**2 * self.energy_variance
            + time**2 * self.time_variance
            + 2 * energy * time * self.covariance
        )


def estimate_spread_within_run(headline: Headline) -> Spread | None:
    """The spread between the epochs of one run, from three figures of its headline; None without
    intervals.

    Power is energy times throughput, so the variances of all three give the covariance of two.
    """
    joules_per_item = headline.joules_per_item
    if joules_per_item is None or joules_per_item.ci95 is None:
        return None
    energy, time, power = (
        _get_relative_error(estimate) ** 2
        for estimate in (
            joules_per_item,
            headline.items_per_s,
            headline.mean_power_w_per_accelerator,
        )
    )
    limit = math.sqrt(energy * time)
    # The three intervals are computed apart, so rounding could exceed a correlation of 1.
    covariance = max(-limit, min(limit, (energy + time - power) / 2))
    return Spread(energy, time, covariance, joules_per_item.n - 1, "epochs")


def _get_relative_error(estimate: Estimate) -> float:
    """The standard error as a multiple of the mean."""
    return estimate.half_width / student_t95(estimate.n - 1) / estimate.mean


def pool_runs(settings: Sequence[Sequence[tuple[float, float]]]) -> list[Spread] | None:
    """The spread between repeated runs for each setting of a sweep. A setting is its runs, each as
    J per item and items per second. None where no setting has a second run.

    The relative variance is pooled over the settings (one-way analysis of variance), because two or
    three repeats of one setting alone hardly determine it.
    """
    degrees = sum(len(runs) - 1 for runs in settings)
    if degrees == 0:
        return None
    residuals = [residual for runs in settings for residual in _list_residuals(runs)]
    energy = math.fsum(e**2 for e, _ in residuals) / degrees
    time = math.fsum(t**2 for _, t in residuals) / degrees
    covariance = math.fsum(e * t for e, t in residuals) / degrees
    return [
        Spread(energy / len(runs), time / len(runs), covariance / len(runs), degrees, "runs")
        for runs in settings
    ]


def _list_residuals(runs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The deviations of each run from the mean, of J and s per item, as multiples of the mean."""
    mean_j, mean_rate = fmean(joules for joules, _ in runs), fmean(rate for _, rate in runs)
    return [(joules / mean_j - 1, 1 - rate / mean_rate) for joules, rate in runs]


def find_ratio_interval(
    numerator: float,
    denominator: float,
    variances: tuple[float, float],
    covariance: float,
    degrees: int,
) -> Interval | None:
    """Fieller's 95 % interval of a ratio of two means with normal errors, given their variances and
    covariance. None where the denominator cannot be told from zero, so that no bounded interval
    exists.

    Source: Fieller, Some problems in interval estimation, 1954, JRSS B 16, 175-185.
    """
    squared_quantile = student_t95(degrees) ** 2
    numerator_variance, denominator_variance = variances
    # The interval is where (numerator - ratio x denominator)^2 <= t^2 x its variance: between the
    # roots of a ratio^2 - 2 b ratio + c.
    a = denominator**2 - squared_quantile * denominator_variance
    b = numerator * denominator - squared_quantile * covariance
    c = numerator**2 - squared_quantile * numerator_variance
    if a <= 0:
        return None
    root = math.sqrt(max(0.0, b**2 - a * c))
    return (b - root) / a, (b + root) / a


def make_estimate(value: float, variance: float, spreads: Sequence[Spread | None]) -> Estimate:
    """A value with its interval by Student's t, given its variance and the spreads that it comes
    from. Without all of them it has no interval.

    Spreads of one sweep share their degrees of freedom; of others the fewest count, which is
    cautious.
    """
    known = [spread for spread in spreads if spread]
    if len(known) < len(spreads):
        return Estimate(value, 1, None, None)
    degrees = min(spread.degrees for spread in known)
    half_width = student_t95(degrees) * math.sqrt(max(0.0, variance))
    return Estimate(value, degrees + 1, None, (value - half_width, value + half_width))


def estimate_ratio_of_points(
    ratio: float, spreads: tuple[Spread | None, Spread | None], energy: float, time: float
) -> Estimate:
    """A ratio of two points, each to the powers `energy` of J per item and `time` of s per item,
    with its interval by Fieller. Without the spread of both it has no interval."""
    upper, lower = spreads
    if upper is None or lower is None:
        return Estimate(ratio, 1, None, None)
    degrees = min(upper.degrees, lower.degrees)
    variances = ratio**2 * upper.combine(energy, time), lower.combine(energy, time)
    interval = find_ratio_interval(ratio, 1.0, variances, 0.0, degrees)
    return Estimate(ratio, degrees + 1, None, interval)


def excludes(interval: Interval | None, value: float) -> bool | None:
    """Whether a value lies outside of an interval; None without an interval."""
    return None if interval is None else not interval[0] <= value <= interval[1]
