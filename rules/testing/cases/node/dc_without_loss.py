"""Mutations that the rule `dc-without-loss` must find."""

from rules.checks.node.dc_without_loss import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def meter_behind_the_power_supply(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0].update(current="dc", location="psu-output")


@mutation(RULE)
def loss_left_out_of_a_meter_of_the_chassis(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0].update(
        scope="chassis", current="dc", location="psu-output", conversion_loss=None
    )
