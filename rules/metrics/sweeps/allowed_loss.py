"""The cap of least energy among those that cost no more throughput than is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass

from rules.metrics.figures import Estimate
from rules.metrics.sweeps.gains import find_ratios
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import estimate_ratio_of_points


@dataclass(frozen=True)
class AllowedPoint:
    """A point that loses no more throughput than is allowed, by its mean."""

    point: Point
    loss_percent: Estimate
    """Of throughput, against the reference; negative where it is faster."""
    certain: bool | None
    """Whether the whole interval of the loss is allowed; None without an interval."""


def estimate_loss_percent(point: Point, reference: Point) -> Estimate:
    """100 (1 - items/s over that of the reference), with its 95 % interval. The reference itself
    has none."""
    _, time_ratio = find_ratios(point, reference)
    spreads = (None, None) if point == reference else (reference.spread, point.spread)
    # Items/s of the point over those of the reference: the inverse of the ratio of times.
    rate = estimate_ratio_of_points(1 / time_ratio, spreads, energy=0, time=1)
    return rate.transform(-100, 100)


def find_least_energy_within(
    points: Sequence[Point], reference: Point, allowed_percent: float
) -> AllowedPoint | None:
    """The point of least energy per item whose throughput is at most `allowed_percent` below that
    of the reference; None without one. Of equal points, the first."""
    candidates = [
        (point, loss)
        for point in points
        if (loss := estimate_loss_percent(point, reference)).mean <= allowed_percent
    ]
    if not candidates:
        return None
    point, loss = min(candidates, key=lambda candidate: candidate[0].joules_per_item)
    certain = loss.ci95[1] <= allowed_percent if loss.ci95 else None
    return AllowedPoint(point, loss, True if point == reference else certain)
