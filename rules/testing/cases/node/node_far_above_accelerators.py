"""Mutations that the rule `node-far-above-accelerators` must find."""

from rules.checks.node.node_far_above_accelerators import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, scale_power


@mutation(RULE)
def meter_of_another_scale(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["range_w"] = None
    scale_power(evidence, 5.0)


@mutation(RULE)
def meter_of_a_whole_rack_declared_as_a_node(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["range_w"] = None
    # Nodes that did not take part draw power of their own.
    scale_power(evidence, 8.0)
    evidence.system["nodes"][0]["accelerators_installed"] = len(
        evidence.system["nodes"][0]["accelerators"]
    )
