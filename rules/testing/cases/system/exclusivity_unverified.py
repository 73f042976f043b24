"""Mutations that the rule `exclusivity-unverified` must find."""

from rules.checks.system.exclusivity_unverified import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def never_looked(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = None


@mutation(RULE)
def looked_at_the_beginning_only(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        if readback["when"] != "before":
            readback["foreign_processes"] = None
