"""Mutations that the rule `cap-asked-and-in-force-differ` must find."""

from rules.checks.caps.cap_asked_and_in_force_differ import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


@mutation(RULE)
def limited_out_of_band(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["requested_mw"] = readback["enforced_mw"] + 50_000


@mutation(RULE)
def one_board_asked_for_more_after_an_epoch(evidence: EvidenceFrames) -> None:
    board = get_first_accelerator(evidence)
    readback = next(
        r
        for r in evidence.result["readbacks"]
        if (r["when"], r["accelerator"]) == ("epoch-6", board)
    )
    readback["requested_mw"] += 100_000
