"""Mutations that the rule `mig-on` must find."""

from rules.checks.system.mig_on import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def mig_on_throughout(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["mig"] = True


@mutation(RULE)
def mig_on_at_the_end(evidence: EvidenceFrames) -> None:
    evidence.result["readbacks"][-1]["mig"] = True
