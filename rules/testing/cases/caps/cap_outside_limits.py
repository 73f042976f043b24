"""Mutations that the rule `cap-outside-limits` must find."""

from rules.checks.caps.cap_outside_limits import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap


@mutation(RULE)
def cap_above_the_board(evidence: EvidenceFrames) -> None:
    cap_mw = evidence.result["readbacks"][0]["max_mw"] + 100_000
    declare_cap(evidence, cap_mw / 1e3)


@mutation(RULE)
def cap_above_a_board_whose_least_limit_reads_zero(evidence: EvidenceFrames) -> None:
    cap_above_the_board(evidence)
    for readback in evidence.result["readbacks"]:
        readback["min_mw"] = 0


@mutation(RULE)
def cap_below_the_least_limit(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback["min_mw"] = round(1e3 * evidence.result["power"]["cap_w"]) + 1
