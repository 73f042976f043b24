"""Mutations that the rule `loss-frozen` must find."""

from rules.checks.throughput.loss_frozen import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def same_loss_everywhere(evidence: EvidenceFrames) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = 6.907755
        epoch.pop("losses", None)


@mutation(RULE)
def loss_zero_everywhere(evidence: EvidenceFrames) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = 0.0
        epoch.pop("losses", None)
