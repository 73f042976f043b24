"""The throughput of a rack of whole nodes as a function of the cap.

A lower cap slows each node and lets more of them into the rack. Whole nodes only, so throughput
jumps where one more node fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rules.metrics.figures import Estimate
from rules.metrics.node.racks import RackPlan, plan_rack
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import (
    estimate_ratio_of_points,
    excludes,
    make_estimate,
)


@dataclass(frozen=True)
class NodeAtCap:
    """A whole node at one cap of a sweep."""

    point: Point
    """Its items/s are those of the node."""
    planned_w: float
    """The power by which racks are planned, above zero."""
    mean_w: float


@dataclass(frozen=True)
class FilledRack:
    """As many nodes at one cap as a rack holds."""

    node: NodeAtCap
    plan: RackPlan
    items_per_s: Estimate
    mean_w: float
    """Of all nodes, in W."""
    spare_w: float | None
    """How much more each node may draw before the rack holds one node less; None for an empty
    rack. Below zero by the tolerance at most."""
    one_more_w: float
    """The power that a node may draw at most so that the rack holds one node more."""


@dataclass(frozen=True)
class BestRack:
    """The rack of highest throughput."""

    rack: FilledRack
    not_told_apart: tuple[FilledRack, ...] | None
    """The racks that cannot be told from it, itself included. None where a cap has no spread."""


def fill_rack(limit_w: float, redundancy_percent: float, node: NodeAtCap) -> FilledRack:
    """The most nodes that leave `redundancy_percent` of a rack limit > 0."""
    plan = plan_rack(limit_w, redundancy_percent, node.planned_w)
    usable_w = limit_w * (1 - redundancy_percent / 100)
    rate = plan.nodes * node.point.items_per_s
    spread = node.point.spread
    variance = rate**2 * spread.combine(0, 1) if spread else 0.0
    return FilledRack(
        node,
        plan,
        make_estimate(rate, variance, [spread]),
        plan.nodes * node.mean_w,
        usable_w / plan.nodes - node.planned_w if plan.nodes else None,
        usable_w / (plan.nodes + 1),
    )


def find_best_rack(racks: Sequence[FilledRack]) -> BestRack | None:
    """The rack of highest throughput; None if all are empty. Of equal racks, the one whose nodes
    draw least."""
    filled = [rack for rack in racks if rack.plan.nodes]
    if not filled:
        return None
    best = max(filled, key=lambda rack: (round(rack.items_per_s.mean, 9), -rack.mean_w))
    verdicts = [
        False if rack is best else excludes(compare_racks(rack, best).ci95, 0.0) for rack in filled
    ]
    return BestRack(
        best,
        None
        if None in verdicts
        else tuple(rack for rack, apart in zip(filled, verdicts, strict=True) if not apart),
    )


def compare_racks(rack: FilledRack, other: FilledRack) -> Estimate:
    """How far the throughput of a rack is above that of another one, neither of them empty, as a
    share of the latter."""
    ratio = rack.items_per_s.mean / other.items_per_s.mean
    spreads = rack.node.point.spread, other.node.point.spread
    return estimate_ratio_of_points(ratio, spreads, energy=0, time=1).transform(1, -1)
