"""Mutations that the rule `vendor-contradicts-board` must find."""

from rules.checks.system.vendor_contradicts_board import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def vendor_of_their_own(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["vendor"] = "Example"


@mutation(RULE)
def real_boards_called_simulated(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["vendor"] = "simulated"
