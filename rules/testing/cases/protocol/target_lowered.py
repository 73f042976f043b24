"""Mutations that the rule `target-lowered` must find."""

from rules.checks.protocol.target_lowered import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.target import TARGET, train_to_target


@mutation(RULE)
def five_points_lower(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    evidence.result["implementation"]["settings"]["target_accuracy"] = TARGET.accuracy - 0.05


@mutation(RULE)
def not_stated(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    del evidence.result["implementation"]["settings"]["target_accuracy"]
