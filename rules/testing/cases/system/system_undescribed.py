"""Mutations that the rule `system-undescribed` must find."""

from rules.checks.system.system_undescribed import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def empty_site(evidence: EvidenceFrames) -> None:
    evidence.system["site"] = ""


@mutation(RULE)
def cooling_to_be_said_later(evidence: EvidenceFrames) -> None:
    evidence.system["cooling"] = "TODO"


@mutation(RULE)
def blank_processor(evidence: EvidenceFrames) -> None:
    evidence.system["nodes"][0]["cpu"] = "  "
