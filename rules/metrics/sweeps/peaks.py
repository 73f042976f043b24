"""The efficiency peak of a sweep over power caps: the best run, and the vertex of a parabola.

docs/sweep-figures.md gives each formula with its source.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.points import Point, get_cap_w, sort_by_cap
from rules.metrics.uncertainty.propagation import Interval, find_ratio_interval, make_estimate


@dataclass(frozen=True)
class Peak:
    """The highest efficiency of a sweep."""

    method: Literal["measured", "quadratic"]
    """The best of the runs, or the vertex of a parabola through it and the runs at the caps beside
    it."""
    cap_w: float
    items_per_joule: Estimate
    edge: Literal["lowest", "highest", "only"] | None = None
    """The edge of the comparable caps that the peak lies at: the true peak may lie beyond it. None
    for a peak between two caps."""
    cap_ci95_w: Interval | None = None
    """Of the vertex of a parabola; None for a measured peak, and where the runs do not determine
    it."""

    @property
    def beyond(self) -> str | None:
        """A caution for a peak at an edge of the sweep; None for one between two caps."""
        where = {"lowest": "below", "highest": "above"}.get(self.edge or "")
        return f"the edge of the sweep: the peak may lie {where}" if where else None


def find_measured_peak(points: Sequence[Point]) -> Peak:
    """The run with the most items per joule among the comparable ones, at the lower cap where two
    are equal.

    Raises MetricsError where no run is comparable, or two are at one cap.
    """
    comparable = [p for p in sort_by_cap(points) if p.comparable]
    if not comparable:
        raise MetricsError(
            f"the sweep has no efficiency peak: none of its {len(points)} runs has a cap "
            "known to have held and a throughput "
            "that is possible"
        )
    # `max` keeps the first of equals, which is the lower cap.
    best = max(comparable, key=lambda p: p.items_per_joule)
    return Peak(
        "measured", get_cap_w(best), _estimate_efficiency([best], [1.0]), _edge(best, comparable)
    )


def _edge(best: Point, comparable: Sequence[Point]) -> Literal["lowest", "highest", "only"] | None:
    """At which edge of the comparable points, which are by cap, the best one is."""
    if len(comparable) == 1:
        return "only"
    return "lowest" if best is comparable[0] else "highest" if best is comparable[-1] else None


def fit_quadratic_peak(points: Sequence[Point]) -> Peak | None:
    """The vertex of items/J as a quadratic in the cap, through the measured peak and the runs at
    the caps beside it.

    None where the measured peak is at an edge of the sweep, or a run beside it is not comparable.
    Raises MetricsError as `find_measured_peak` does.
    """
    ordered = sort_by_cap(points)
    best = [p.cap_w for p in ordered].index(find_measured_peak(points).cap_w)
    # `max`: a negative start would count from the end.
    around = ordered[max(best - 1, 0) : best + 2]
    if len(around) < 3 or not all(p.comparable for p in around):
        return None
    (x0, y0), (x1, y1), (x2, y2) = ((get_cap_w(p), p.items_per_joule) for p in around)
    # The slopes between the runs are weighted sums of their efficiencies.
    slope_weights = (-1 / (x1 - x0), 1 / (x1 - x0), 0.0), (0.0, -1 / (x2 - x1), 1 / (x2 - x1))
    rise, fall = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    # Of equals the lower cap is the measured peak, so rise > 0 >= fall: the parabola opens
    # downwards. Its slope is `rise` in the middle of the lower two caps, and `fall` in that of the
    # upper two.
    middle, distance = (x0 + x1) / 2, (x2 - x0) / 2
    shift = rise / (rise - fall) * distance
    cap_w = middle + shift
    drop_weights = [low - high for low, high in zip(*slope_weights, strict=True)]
    interval = _find_vertex_interval(around, (rise, rise - fall), (slope_weights[0], drop_weights))
    # The weights of Lagrange's interpolation. At the vertex an error of its place changes nothing.
    weights = (
        (cap_w - x1) * (cap_w - x2) / ((x0 - x1) * (x0 - x2)),
        (cap_w - x0) * (cap_w - x2) / ((x1 - x0) * (x1 - x2)),
        (cap_w - x0) * (cap_w - x1) / ((x2 - x0) * (x2 - x1)),
    )
    return Peak(
        "quadratic",
        cap_w,
        _estimate_efficiency(around, weights),
        cap_ci95_w=interval and (middle + distance * interval[0], middle + distance * interval[1]),
    )


def _find_vertex_interval(
    points: Sequence[Point],
    slopes: tuple[float, float],
    weights: tuple[Sequence[float], Sequence[float]],
) -> Interval | None:
    """The interval of a ratio of two weighted sums of the efficiencies of independent points."""
    spreads = [point.spread for point in points if point.spread]
    if len(spreads) < len(points):
        return None
    variances = [_get_efficiency_variance(point) for point in points]
    (upper, lower) = weights
    return find_ratio_interval(
        *slopes,
        (
            math.fsum(w**2 * v for w, v in zip(upper, variances, strict=True)),
            math.fsum(w**2 * v for w, v in zip(lower, variances, strict=True)),
        ),
        math.fsum(a * b * v for a, b, v in zip(upper, lower, variances, strict=True)),
        min(spread.degrees for spread in spreads),
    )


def _estimate_efficiency(points: Sequence[Point], weights: Sequence[float]) -> Estimate:
    """A weighted sum of the items/J of independent points."""
    value = math.fsum(w * p.items_per_joule for w, p in zip(weights, points, strict=True))
    variances = [_get_efficiency_variance(point) for point in points]
    variance = math.fsum(w**2 * v for w, v in zip(weights, variances, strict=True))
    return make_estimate(value, variance, [point.spread for point in points])


def _get_efficiency_variance(point: Point) -> float:
    """The variance of the mean items/J; 0 where it is not known."""
    return point.spread.energy_variance * point.items_per_joule**2 if point.spread else 0.0
