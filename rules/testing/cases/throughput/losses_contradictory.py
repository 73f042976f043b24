"""Mutations that the rule `losses-contradictory` must find."""

from rules.checks.throughput.losses_contradictory import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def list_losses(evidence: EvidenceFrames) -> None:
    """Give every epoch a list of losses that ends in its loss, as a harness writes it."""
    for epoch in evidence.result["epochs"]:
        epoch["losses"] = [epoch["loss"] + 0.01 * step for step in range(20, -1, -1)]


@mutation(RULE, rederive=False)
def loss_overflows_for_some_steps(evidence: EvidenceFrames) -> None:
    list_losses(evidence)
    evidence.result["epochs"][4]["losses"][3:9] = [None] * 6


@mutation(RULE, rederive=False)
def loss_frozen_within_an_epoch(evidence: EvidenceFrames) -> None:
    list_losses(evidence)
    last_epoch = evidence.result["epochs"][-1]
    last_epoch["losses"] = [last_epoch["loss"]] * 21


@mutation(RULE, rederive=False)
def better_loss_stated_than_reached(evidence: EvidenceFrames) -> None:
    list_losses(evidence)
    evidence.result["epochs"][-1]["loss"] /= 2
