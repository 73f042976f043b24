"""Gains of published sweeps, computed again from other printed figures, and the power of a node
beside its boards that they imply.

Printed figures are rounded, so what follows from them is a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from rules.metrics.sweeps.best_settings import Metric
from rules.metrics.sweeps.gains import EDS_K, Comparison, compare
from rules.metrics.sweeps.points import Point


@dataclass(frozen=True)
class PrintedComparison:
    """A setting against the reference by three printed figures."""

    seconds: float
    reference_seconds: float
    gain_minus_extra_time_points: float


@dataclass(frozen=True)
class RecomputedGain:
    """A gain from printed figures, and the range that their rounding allows."""

    value: float
    low: float
    high: float

    def allows(self, printed: float) -> bool:
        """Whether a printed gain is the rounded form of a value in the range."""
        half_unit = find_half_unit(printed)
        return self.low - half_unit <= printed <= self.high + half_unit


def find_half_unit(printed: float) -> float:
    """Half a unit of the last digit of a printed number, such as 0.05 for 93.6."""
    exponent = Decimal(str(printed)).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def recompute_gain(
    metric: Metric, printed: PrintedComparison, eds_k: Sequence[float] = EDS_K
) -> RecomputedGain:
    """The gain of a setting by a metric, from its time, that of the reference, and gain minus extra
    time. Those three give its energy."""

    def compute(seconds: float, reference_seconds: float, points: float) -> float:
        comparison = _compare(PrintedComparison(seconds, reference_seconds, points), eds_k)
        return metric.select_gain(comparison).mean

    figures = (printed.seconds, printed.reference_seconds, printed.gain_minus_extra_time_points)
    # The gains rise or fall with each figure over its range, so the extremes are at the corners.
    corners = [
        compute(*corner)
        for corner in product(*((f - find_half_unit(f), f + find_half_unit(f)) for f in figures))
    ]
    return RecomputedGain(compute(*figures), min(corners), max(corners))


def _compare(printed: PrintedComparison, eds_k: Sequence[float] = EDS_K) -> Comparison:
    """The comparison of the whole work as one item, of one joule at the reference."""
    extra_time = printed.seconds / printed.reference_seconds - 1
    energy_j = 1 - printed.gain_minus_extra_time_points / 100 - extra_time
    point = Point(None, 1 / printed.seconds, energy_j, True)
    return compare(point, Point(None, 1 / printed.reference_seconds, 1.0, True), eds_k)


@dataclass(frozen=True)
class BoardsOnly:
    """What a sweep would show without the rest of the node, if the boards draw their caps."""

    rest_of_node_w: float
    """Constant power beside the boards that the gain of the node implies."""
    energy_gain_percent: float
    gain_minus_extra_time_points: float


def leave_out_rest_of_node(
    printed: PrintedComparison, boards: int, cap_w: float, reference_cap_w: float
) -> BoardsOnly:
    """The gains of the boards alone, from gains of a whole node.

    With all boards at their caps and a constant power R beside them, E / E_ref = (n cap + R) t /
    ((n cap_ref + R) t_ref). The gain of the node gives R.
    """
    time_ratio = printed.seconds / printed.reference_seconds
    comparison = _compare(printed)
    energy_ratio = 1 - comparison.energy_gain_percent.mean / 100
    boards_w, reference_boards_w = boards * cap_w, boards * reference_cap_w
    rest_w = (energy_ratio * reference_boards_w - time_ratio * boards_w) / (
        time_ratio - energy_ratio
    )
    alone = compare(
        Point(cap_w, 1 / time_ratio, boards_w * time_ratio, True),
        Point(reference_cap_w, 1.0, reference_boards_w, True),
    )
    return BoardsOnly(
        rest_w, alone.energy_gain_percent.mean, alone.gain_minus_extra_time_points.mean
    )
