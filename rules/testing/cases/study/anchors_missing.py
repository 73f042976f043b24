"""Mutations that the rule `anchors-missing` must find."""

from rules.checks.study.anchors_missing import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import drop_points, find_points


@study_mutation(RULE)
def last_anchor_left_out(study: StudyFrames) -> None:
    drop_points(study, find_points(study, kind="anchor")[-1:])


@study_mutation(RULE, "Y106", "Y119")
def first_anchor_left_out(study: StudyFrames) -> None:
    drop_points(study, find_points(study, kind="anchor")[:1])


@study_mutation(RULE)
def anchors_after_three_models_left_out(study: StudyFrames) -> None:
    study.study["settings"]["anchor"]["every"] = 3


@study_mutation(RULE)
def anchor_of_another_model(study: StudyFrames) -> None:
    study.study["settings"]["anchor"]["architecture"] = "resnet18"
