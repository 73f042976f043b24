"""Mutations that the rule `model-above-peak` must find."""

from rules.checks.study.model_above_peak import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import LARGEST, count_batches, find_points


@study_mutation(RULE)
def batches_counted_three_times(study: StudyFrames) -> None:
    for number in find_points(study, LARGEST):
        count_batches(study, number, 3)


@study_mutation(RULE, "Y118")
def another_precision_claimed(study: StudyFrames) -> None:
    study.points["precision"] = "fp32"
    study.study["settings"]["precisions"] = ["fp32"]
    for entry in study.study["work"]:
        entry["precision"] = "fp32"
