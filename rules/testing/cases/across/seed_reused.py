"""Mutations that the rule `seed-reused` must find."""

from rules.checks.across.seed_reused import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def share_input(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    """Equal seeds give equal inputs and first losses."""
    for rank, other_rank in zip(run.result["ranks"], other_run.result["ranks"], strict=True):
        if "inputs_sha256" in other_rank:
            rank["inputs_sha256"] = other_rank["inputs_sha256"]


@pairing(RULE)
def repeat_with_the_same_seed(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.result["settings"]["seed"] = other_run.result["settings"]["seed"]
    share_input(run, other_run)


@pairing(RULE)
def two_repeats_with_seed_zero(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    for evidence in (run, other_run):
        evidence.result["settings"]["seed"] = 0
    share_input(run, other_run)
