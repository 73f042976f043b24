"""Mutations that the rule `seed-reused` must find."""

from rules.checks.across.seed_reused import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


@pairing(RULE)
def repeat_with_the_same_seed(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.result["settings"]["seed"] = other_run.result["settings"]["seed"]


@pairing(RULE)
def two_repeats_with_seed_zero(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    for evidence in (run, other_run):
        evidence.result["settings"]["seed"] = 0
