"""Mutations that the rule `node-figures-not-computable` must find."""

from rules.checks.node.node_figures_not_computable import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def clock_of_the_meter_not_placed(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.result["node_clocks"] = []


@mutation(RULE)
def readings_backwards_in_time(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    assert evidence.node_samples is not None
    stamps_ns = evidence.node_samples["meter_ns"]
    evidence.node_samples["meter_ns"] = stamps_ns.max() + stamps_ns.min() - stamps_ns
