"""Mutations that the rule `meter-covers-more` must find."""

from rules.checks.node.meter_covers_more import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def meter_of_a_rack(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0].update(scope="rack", nodes_covered=8)


@mutation(RULE)
def power_supplies_shared(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["shared_psu"] = True


@mutation(RULE)
def half_of_the_boards_unused(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    node = evidence.system["nodes"][0]
    node["accelerators_installed"] = 2 * len(node["accelerators"])
