"""Mutations that the rule `loss-missing` must find."""

from rules.checks.throughput.loss_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def no_loss_at_all(evidence: EvidenceFrames) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = None


@mutation(RULE)
def loss_overflows_late(evidence: EvidenceFrames) -> None:
    evidence.result["epochs"][-1]["loss"] = None
