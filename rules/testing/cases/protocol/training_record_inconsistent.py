"""Mutations that the rule `training-record-inconsistent` must find."""

from rules.checks.protocol.training_record_inconsistent import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.target import TARGET, train_to_target


@mutation(RULE)
def missing_everywhere(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    for epoch in evidence.result["epochs"]:
        del epoch["trainings"]


@mutation(RULE)
def missing_of_one_rank(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    evidence.result["epochs"][2]["trainings"].pop()


@mutation(RULE)
def between_evaluations(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    evidence.result["epochs"][1]["trainings"][0]["steps"] += 1


@mutation(RULE)
def beyond_the_last_step(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    training = evidence.result["epochs"][1]["trainings"][0]
    training["steps"] = TARGET.max_steps + TARGET.steps_between


@mutation(RULE)
def of_half_a_sample(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    evidence.result["epochs"][1]["trainings"][0]["accuracy"] += 0.5 / TARGET.held_out
