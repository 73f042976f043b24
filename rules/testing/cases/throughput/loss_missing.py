"""Mutations that the rule `loss-missing` must find."""

from rules.checks.throughput.loss_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def no_loss_at_all(evidence: EvidenceFrames) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = None
        epoch.pop("losses", None)


@mutation(RULE)
def loss_overflows_late(evidence: EvidenceFrames) -> None:
    last_epoch = evidence.result["epochs"][-1]
    last_epoch["loss"] = None
    last_epoch.pop("losses", None)
