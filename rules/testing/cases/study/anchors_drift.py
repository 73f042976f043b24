"""Mutations that the rule `anchors-drift` must find."""

from rules.checks.study.anchors_drift import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import find_points, scale_readings, select_samples


@study_mutation(RULE)
def last_anchor_takes_more(study: StudyFrames) -> None:
    number = find_points(study, kind="anchor")[-1]
    scale_readings(study, select_samples(study, [number]), 1.03)


@study_mutation(RULE, sessions=2)
def first_anchor_of_the_second_session_takes_less(study: StudyFrames) -> None:
    number = find_points(study, kind="anchor")[2]
    scale_readings(study, select_samples(study, [number]), 0.97)
