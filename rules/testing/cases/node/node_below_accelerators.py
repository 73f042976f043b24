"""Mutations that the rule `node-below-accelerators` must find."""

from rules.checks.node.node_below_accelerators import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power, scale_power


@mutation(RULE)
def node_uses_half_of_its_power(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    scale_power(evidence, 0.5)


@mutation(RULE)
def second_supply_left_out(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["feeds"] = [
        feed for feed in evidence.system["meters"][0]["feeds"] if feed["feed"] == "A"
    ]
    assert evidence.node_samples is not None
    table = evidence.node_samples
    evidence.node_samples = table[table["feed"] == "A"].reset_index(drop=True)
