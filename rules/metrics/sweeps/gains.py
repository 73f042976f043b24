"""A point of a sweep against its reference: energy gain, extra time, EDP and EDS.

E and t are of one item: E = J per item, t = 1 / (items/s). Formulas: Koszczał et al. 2023, section
3; docs/sweep-figures.md gives each with its source.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import Basis, estimate_ratio_of_points, make_estimate

EDS_K = (1.5, 2.0)
"""The allowed ratios of time for which EDS is given."""


@dataclass(frozen=True)
class Comparison:
    """A point against the reference, with 95 % intervals. Above zero, a gain is better than the
    reference and extra time is worse. The reference itself has no intervals."""

    energy_gain_percent: Estimate
    extra_time_percent: Estimate
    """Called performance loss in Koszczał et al. 2023, where it can exceed 100 %."""
    gain_minus_extra_time_points: Estimate
    """In percentage points."""
    edp_js: Estimate
    """In J s, of one item; of n items it is n² times that."""
    edp_gain_percent: Estimate
    eds_gain_percent: Mapping[float, Estimate]
    """By the allowed ratio of time k."""
    basis: Basis | None
    """What the intervals come from; `epochs` if this holds for one of the two points."""


def compare(point: Point, reference: Point, eds_k: Sequence[float] = EDS_K) -> Comparison:
    """What `point` saves and costs against `reference`, for the same work on as many accelerators.

    Raises MetricsError for a k that is not finite and above 1.
    """
    energy_ratio, time_ratio = find_ratios(point, reference)
    # The reference against itself is no comparison of two independent points.
    spreads = (None, None) if point == reference else (point.spread, reference.spread)
    energy = estimate_ratio_of_points(energy_ratio, spreads, energy=1, time=0)
    time = estimate_ratio_of_points(time_ratio, spreads, energy=0, time=1)
    edp = estimate_ratio_of_points(energy_ratio * time_ratio, spreads, energy=1, time=1)
    bases = {spread.basis for spread in spreads if spread}
    ratio_sum = _estimate_sum(point, reference, 1.0, 1.0)
    return Comparison(
        energy_gain_percent=energy.transform(-100, 100),
        extra_time_percent=time.transform(100, -100),
        gain_minus_extra_time_points=ratio_sum.transform(-100, 200),
        edp_js=_estimate_edp_js(point),
        edp_gain_percent=edp.transform(-100, 100),
        eds_gain_percent={
            k: _estimate_sum(point, reference, *weigh_eds(k)).transform(-100, 100) for k in eds_k
        },
        basis=None if None in spreads else "epochs" if "epochs" in bases else "runs",
    )


def weigh_eds(k: float) -> tuple[float, float]:
    """The weights of E / E_ref and t / t_ref in EDS = alpha E + beta t, with alpha = (k - 1) / (k
    E_ref) and beta = 1 / (k t_ref): EDS is 1 at the reference, and lower is better.

    k is the allowed ratio of time. Raises MetricsError where it is not finite and above 1.
    """
    if not 1 < k < math.inf:
        raise MetricsError(f"EDS needs a finite allowed ratio of time k above 1, not {k:g}")
    return (k - 1) / k, 1 / k


def find_ratios(point: Point, reference: Point) -> tuple[float, float]:
    """E / E_ref and t / t_ref."""
    return (
        point.joules_per_item / reference.joules_per_item,
        reference.items_per_s / point.items_per_s,
    )


def _estimate_sum(point: Point, reference: Point, energy: float, time: float) -> Estimate:
    """`energy` x E / E_ref + `time` x t / t_ref, with its interval by first-order propagation."""
    energy_ratio, time_ratio = find_ratios(point, reference)
    terms = energy * energy_ratio, time * time_ratio
    if point == reference or not point.spread or not reference.spread:
        return make_estimate(sum(terms), 0.0, [None])
    variance = point.spread.combine(*terms) + reference.spread.combine(*terms)
    return make_estimate(sum(terms), variance, [point.spread, reference.spread])


def _estimate_edp_js(point: Point) -> Estimate:
    edp_js = point.joules_per_item / point.items_per_s
    variance = point.spread.combine(1, 1) * edp_js**2 if point.spread else 0.0
    return make_estimate(edp_js, variance, [point.spread])
