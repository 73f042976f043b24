"""Mutations that the rule `source-differs-at-commit` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.across.source_differs_at_commit import RULE
from rules.testing.case import pairing


def _hash(evidence: Evidence, digit: str) -> None:
    evidence.environment["source_sha256"] = digit * 64
    evidence.environment["git"] = {"commit": "c" * 40, "dirty": False}


@pairing(RULE, both=True)
def code_altered_and_said_to_be_clean(run: Evidence, other: Evidence) -> None:
    _hash(run, "a")
    _hash(other, "b")


@pairing(RULE, both=True)
def commit_claimed_that_did_not_run(run: Evidence, other: Evidence) -> None:
    for evidence in (run, other):
        _hash(evidence, "a")
    run.environment["source_sha256"] = f"{other.environment['source_sha256'][:-1]}0"
