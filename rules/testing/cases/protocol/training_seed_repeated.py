"""Mutations that the rule `training-seed-repeated` must find."""

from rules.checks.protocol.training_seed_repeated import RULE
from rules.contract import TRAININGS_OF_A_SEED
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.target import train_to_target


@mutation(RULE)
def in_two_epochs(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    epochs = evidence.result["epochs"]
    epochs[5]["trainings"][0]["seed"] = epochs[4]["trainings"][0]["seed"]


@mutation(RULE)
def all_alike(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    for epoch in evidence.result["epochs"]:
        for training in epoch["trainings"]:
            training["seed"] = TRAININGS_OF_A_SEED


@mutation(RULE)
def seeds_of_another_run(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    for epoch in evidence.result["epochs"]:
        for training in epoch["trainings"]:
            training["seed"] += TRAININGS_OF_A_SEED
