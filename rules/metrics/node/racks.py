"""How many nodes a rack can hold."""

import math
from dataclasses import dataclass

TOLERANCE_W = 1.0
"""Nodes may exceed the usable power by this: papers print power in steps of 10 W or more."""


@dataclass(frozen=True)
class RackPlan:
    """Whole nodes in a rack."""

    nodes: int
    used_w: float
    margin_percent: float
    """The share of the rack limit that is left."""


def plan_rack(limit_w: float, redundancy_percent: float, node_w: float) -> RackPlan:
    """The most nodes of `node_w` > 0 each that leave `redundancy_percent` of a rack limit > 0.

    Latif et al. 2024, section VI: 70 kW and 27 % hold 5 nodes of 10.2 kW.
    """
    usable_w = limit_w * (1 - redundancy_percent / 100)
    nodes = max(0, math.floor((usable_w + TOLERANCE_W) / node_w))
    used_w = nodes * node_w
    return RackPlan(nodes, used_w, 100 * (1 - used_w / limit_w))


def compute_pdu_limit_w(
    pdus: int, volts: float, amperes: float, phases: int, derating_percent: float
) -> float:
    """The continuous power in W of some equal PDUs. `volts` are between a phase and neutral;
    `derating_percent` is the share of the breaker's current that may flow all the time."""
    return pdus * volts * amperes * phases * derating_percent / 100
