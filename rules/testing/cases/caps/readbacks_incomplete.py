"""Mutations that the rule `readbacks-incomplete` must find."""

from rules.checks.caps.readbacks_incomplete import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


def remove_readback(evidence: EvidenceFrames, when: str) -> None:
    board = get_first_accelerator(evidence)
    readbacks = [
        r for r in evidence.result["readbacks"] if (r["accelerator"], r["when"]) != (board, when)
    ]
    evidence.result["readbacks"] = readbacks


@mutation(RULE)
def none_at_the_end(evidence: EvidenceFrames) -> None:
    remove_readback(evidence, "after")


@mutation(RULE)
def cap_not_read(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = None


@mutation(RULE)
def none_after_one_epoch(evidence: EvidenceFrames) -> None:
    remove_readback(evidence, "epoch-4")
