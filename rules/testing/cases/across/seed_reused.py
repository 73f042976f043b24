"""Mutations that the rule `seed-reused` must find."""

from rules.checks.across.seed_reused import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


@pairing(RULE)
def repeat_with_the_same_seed(run: EvidenceFrames, other: EvidenceFrames) -> None:
    run.result["settings"]["seed"] = other.result["settings"]["seed"]


@pairing(RULE)
def two_repeats_with_seed_zero(run: EvidenceFrames, other: EvidenceFrames) -> None:
    for evidence in (run, other):
        evidence.result["settings"]["seed"] = 0
