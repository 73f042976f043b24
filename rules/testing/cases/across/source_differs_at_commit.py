"""Mutations that the rule `source-differs-at-commit` must find."""

from rules.checks.across.source_differs_at_commit import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def set_source_hash(evidence: EvidenceFrames, digit: str) -> None:
    evidence.environment["source_sha256"] = digit * 64
    evidence.environment["git"] = {"commit": "c" * 40, "dirty": False}


@pairing(RULE, both_at_fault=True)
def code_altered_and_said_to_be_clean(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    set_source_hash(run, "a")
    set_source_hash(other_run, "b")


@pairing(RULE, both_at_fault=True)
def commit_claimed_that_did_not_run(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    for evidence in (run, other_run):
        set_source_hash(evidence, "a")
    run.environment["source_sha256"] = f"{other_run.environment['source_sha256'][:-1]}0"
