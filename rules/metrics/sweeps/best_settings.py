"""The best setting of a sweep by each metric, and the settings that cannot be told from it.

The metrics are those of Koszczał et al. 2023, Table 1: energy, gain minus extra time, EDP, and EDS
for each allowed ratio of time k.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rules.metrics.figures import Estimate
from rules.metrics.sweeps.gains import EDS_K, Comparison, compare, find_ratios, weigh_eds
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import estimate_ratio_of_points, excludes, make_estimate

SHOWN_EDS_K = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
"""The allowed ratios of time for which page and terminal show the best setting."""

MetricName = Literal["energy", "gain minus extra time", "EDP", "EDS"]


@dataclass(frozen=True)
class Metric:
    """What a setting is best by."""

    name: MetricName
    k: float | None = None
    """The allowed ratio of time of EDS; None for the other metrics."""

    @property
    def label(self) -> str:
        """Such as `EDS, k = 1.5`."""
        return self.name if self.k is None else f"{self.name}, k = {self.k:g}"

    def select_gain(self, comparison: Comparison) -> Estimate:
        """The gain by this metric, in percent or percentage points."""
        if self.name == "EDS":
            assert self.k is not None
            return comparison.eds_gain_percent[self.k]
        return {
            "energy": comparison.energy_gain_percent,
            "gain minus extra time": comparison.gain_minus_extra_time_points,
            "EDP": comparison.edp_gain_percent,
        }[self.name]


@dataclass(frozen=True)
class BestSetting:
    """The setting of a sweep with the highest gain by a metric."""

    metric: Metric
    point: Point
    gain: Estimate
    """Against the reference."""
    not_told_apart: tuple[Point, ...] | None
    """The settings that cannot be told from it, itself included, in the order of the sweep. None
    where a setting has no spread."""


def list_metrics(eds_k: Sequence[float] = EDS_K) -> list[Metric]:
    """The metrics in the order of the paper's Table 1."""
    names: tuple[MetricName, ...] = ("energy", "gain minus extra time", "EDP")
    return [*map(Metric, names), *(Metric("EDS", k) for k in eds_k)]


def find_best_settings(
    points: Sequence[Point], reference: Point, eds_k: Sequence[float] = EDS_K
) -> list[BestSetting]:
    """The best of the points, which are comparable and in the order of their caps or other
    settings, by each metric. The reference is one of them. Of equal points, the first is best.

    Raises MetricsError for a k that is not finite and above 1.
    """
    comparisons = [compare(point, reference, eds_k) for point in points]
    best_settings = []
    for metric in list_metrics(eds_k):
        gains = [metric.select_gain(comparison) for comparison in comparisons]
        # Equal settings may differ in the last bit. `max` keeps the first of equals.
        place = max(range(len(gains)), key=lambda i: round(gains[i].mean, 9))
        best = points[place]
        verdicts = [
            False
            if point is best
            else excludes(estimate_disadvantage(metric, point, best, reference).ci95, 0.0)
            for point in points
        ]
        not_told_apart = (
            None
            if None in verdicts
            else tuple(p for p, apart in zip(points, verdicts, strict=True) if not apart)
        )
        best_settings.append(BestSetting(metric, best, gains[place], not_told_apart))
    return best_settings


def estimate_disadvantage(metric: Metric, point: Point, best: Point, reference: Point) -> Estimate:
    """How much worse a setting is than another one by a metric, with its 95 % interval: a share of
    the better one for energy and EDP, a share of the reference for the others."""
    if metric.name in ("energy", "EDP"):
        # The reference cancels, so its uncertainty does not matter.
        energy_ratio, time_ratio = find_ratios(point, best)
        power = 1 if metric.name == "EDP" else 0
        ratio = estimate_ratio_of_points(
            energy_ratio * time_ratio**power, (point.spread, best.spread), energy=1, time=power
        )
        return ratio.transform(1, -1)
    weights = (1.0, 1.0) if metric.k is None else weigh_eds(metric.k)
    return _estimate_difference(point, best, reference, weights)


def _estimate_difference(
    point: Point, best: Point, reference: Point, weights: tuple[float, float]
) -> Estimate:
    """The difference of the weighted sums of E / E_ref and t / t_ref of two points."""
    terms, best_terms = (
        [w * ratio for w, ratio in zip(weights, find_ratios(p, reference), strict=True)]
        for p in (point, best)
    )
    value = sum(terms) - sum(best_terms)
    # How much each point moves the difference, by J and s per item. The point or the best one may
    # be the reference itself.
    influences = {point: terms, best: [-term for term in best_terms]}
    at_reference = influences.get(reference, [0.0, 0.0])
    influences[reference] = [
        present + best_term - term
        for present, best_term, term in zip(at_reference, best_terms, terms, strict=True)
    ]
    variance = sum(p.spread.combine(*influence) for p, influence in influences.items() if p.spread)
    return make_estimate(value, variance, [p.spread for p in influences])
