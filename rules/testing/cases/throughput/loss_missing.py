"""Mutations that the rule `loss-missing` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.throughput.loss_missing import RULE
from rules.testing.case import mutation


@mutation(RULE)
def no_loss_at_all(evidence: Evidence) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = None


@mutation(RULE)
def loss_overflows_late(evidence: Evidence) -> None:
    evidence.result["epochs"][-1]["loss"] = None
