"""Mutations that the rule `seed-reused` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.across.seed_reused import RULE
from rules.testing.case import pairing


@pairing(RULE)
def repeat_with_the_same_seed(run: Evidence, other: Evidence) -> None:
    run.result["settings"]["seed"] = other.result["settings"]["seed"]


@pairing(RULE)
def two_repeats_with_seed_zero(run: Evidence, other: Evidence) -> None:
    for evidence in (run, other):
        evidence.result["settings"]["seed"] = 0
