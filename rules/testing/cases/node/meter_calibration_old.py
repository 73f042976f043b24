"""Mutations that the rule `meter-calibration-old` must find."""

from rules.checks.node.meter_calibration_old import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


@mutation(RULE)
def calibrated_years_before(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["calibrated_on"] = "2019-03-01"


@mutation(RULE)
def calibrated_after_the_run(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    evidence.system["meters"][0]["calibrated_on"] = "2099-03-01"


@mutation(RULE)
def calibration_left_out(evidence: EvidenceFrames) -> None:
    add_node_power(evidence)
    del evidence.system["meters"][0]["calibrated_on"]
