"""Mutations that the rule `source-differs-at-commit` must find."""

from rules.checks.across.source_differs_at_commit import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def _hash(evidence: EvidenceFrames, digit: str) -> None:
    evidence.environment["source_sha256"] = digit * 64
    evidence.environment["git"] = {"commit": "c" * 40, "dirty": False}


@pairing(RULE, both=True)
def code_altered_and_said_to_be_clean(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _hash(run, "a")
    _hash(other, "b")


@pairing(RULE, both=True)
def commit_claimed_that_did_not_run(run: EvidenceFrames, other: EvidenceFrames) -> None:
    for evidence in (run, other):
        _hash(evidence, "a")
    run.environment["source_sha256"] = f"{other.environment['source_sha256'][:-1]}0"
