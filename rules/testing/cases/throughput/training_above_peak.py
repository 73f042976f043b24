"""Mutations that the rule `training-above-peak` must find."""

from rules.checks.throughput.training_above_peak import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.target import TARGET, train_to_target


@mutation(RULE)
def batch_size_overstated(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    evidence.result["settings"]["batch_size"] *= 1000


@mutation(RULE)
def steps_and_batch_size_overstated(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    for epoch in evidence.result["epochs"]:
        for training in epoch["trainings"]:
            training["steps"] = TARGET.max_steps
    evidence.result["settings"]["batch_size"] = 1024
