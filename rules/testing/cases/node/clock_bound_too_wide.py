"""Mutations that the rule `clock-bound-too-wide` must find."""

from rules.checks.node.clock_bound_too_wide import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def clock_known_to_a_second_and_a_bit(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.result["node_clocks"][0]["bound_ns"] = 1_000_000_001


@mutation(RULE)
def clock_stated_to_three_seconds(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.result["node_clocks"][0].update(bound_ns=3_000_000_000, source="stated")
