"""Mutations that the rule `power-setting-undeclared` must find."""

from rules.checks.caps.power_setting_undeclared import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def no_cap(evidence: EvidenceFrames) -> None:
    evidence.result["power"]["cap_w"] = None


@mutation(RULE)
def no_state(evidence: EvidenceFrames) -> None:
    evidence.result["power"]["state"] = None


@mutation(RULE)
def another_state_declared_and_kept(evidence: EvidenceFrames) -> None:
    evidence.result["power"]["state"] = "P2"
    evidence.samples["power_state"] = "P2"
