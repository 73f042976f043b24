"""Mutations that the rule `meter-accuracy-unstated` must find."""

from rules.checks.node.meter_accuracy_unstated import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def accuracy_left_out(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    del evidence.system["meters"][0]["accuracy_percent"]


@mutation(RULE)
def meter_of_ten_percent(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["accuracy_percent"] = 10.0
