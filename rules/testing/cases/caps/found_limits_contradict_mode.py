"""Mutations that the rule `found-limits-contradict-mode` must find."""

from rules.checks.caps.found_limits_contradict_mode import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


def record_found_limits(evidence: EvidenceFrames) -> None:
    accelerators = [uuid for rank in evidence.result["ranks"] for uuid in rank["accelerators"]]
    evidence.result["power"].update(mode="set", found_mw=dict.fromkeys(accelerators, 650_000))


@mutation(RULE)
def set_without_what_was_found(evidence: EvidenceFrames) -> None:
    evidence.result["power"]["mode"] = "set"


@mutation(RULE)
def found_limits_of_a_cap_that_was_not_set(evidence: EvidenceFrames) -> None:
    record_found_limits(evidence)
    evidence.result["power"]["mode"] = "as-found"


@mutation(RULE)
def found_limit_of_another_board(evidence: EvidenceFrames) -> None:
    record_found_limits(evidence)
    evidence.result["power"]["found_mw"]["GPU-00000000-0000-0000-0000-000000000000"] = 700_000


@mutation(RULE)
def one_board_missing(evidence: EvidenceFrames) -> None:
    record_found_limits(evidence)
    found_mw = evidence.result["power"]["found_mw"]
    del found_mw[get_first_accelerator(evidence)]
    found_mw.setdefault("GPU-00000000-0000-0000-0000-000000000000", 700_000)
