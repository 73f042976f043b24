"""The power of a node beside its boards, added to what boards alone measured."""

import math
from dataclasses import replace

from rules.metrics.energy import MetricsError
from rules.metrics.power.profile import NODE_ACCELERATORS, NODE_OVERHEAD_W
from rules.metrics.sweeps.points import Point


def assume_rest_of_node_w(accelerators: int) -> float:
    """What Mayr et al. 2026, section 5, assume a node to draw beside so many accelerators."""
    return NODE_OVERHEAD_W * accelerators / NODE_ACCELERATORS


def add_rest_of_node(point: Point, rest_w: float) -> Point:
    """The point with `rest_w` more power, the same at every cap. Time does not change.

    A slower run pays the rest of the node for longer, so the uncertainty of its time enters that of
    its energy. Raises MetricsError for a power that is negative or not finite.
    """
    if not 0 <= rest_w < math.inf:
        raise MetricsError(f"the power beside the boards is {rest_w:g} W; it must be 0 or more")
    joules = point.joules_per_item + rest_w / point.items_per_s
    spread = point.spread
    if spread is not None:
        energy = point.joules_per_item / joules
        time = 1 - energy
        spread = replace(
            spread,
            energy_variance=max(0.0, spread.combine(energy, time)),
            covariance=energy * spread.covariance + time * spread.time_variance,
        )
    return replace(point, joules_per_item=joules, spread=spread)
