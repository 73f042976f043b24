"""Mutations that the rule `target-not-reached` must find."""

from rules.checks.protocol.target_not_reached import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.target import TARGET, train_to_target


@mutation(RULE)
def one_sample_below(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    least = round(TARGET.accuracy * TARGET.held_out)
    training = evidence.result["epochs"][3]["trainings"][0]
    training["accuracy"] = (least - 1) / TARGET.held_out


@mutation(RULE)
def half_of_it(evidence: EvidenceFrames) -> None:
    train_to_target(evidence)
    for epoch in evidence.result["epochs"]:
        epoch["trainings"][-1]["accuracy"] = 0.5
