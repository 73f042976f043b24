"""Mutations that the rule `git-dirty` must find."""

from rules.checks.system.git_dirty import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def changes_not_committed(evidence: EvidenceFrames) -> None:
    evidence.environment["git"] = {"commit": "1" * 40, "dirty": True}


@mutation(RULE)
def changes_to_a_commit_in_a_container(evidence: EvidenceFrames) -> None:
    evidence.environment["container"] = "sha256:" + "2" * 64
    evidence.environment["git"] = {"commit": "3" * 40, "dirty": True}
