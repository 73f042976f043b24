"""Mutations that the rule `power-apart-from-twin` must find."""

from rules.checks.study.power_apart_from_twin import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, scale_readings, select_samples


@study_mutation(RULE)
def long_windows_of_less_power(study: StudyFrames) -> None:
    numbers = find_points(study, MODEL, "long")
    scale_readings(study, select_samples(study, numbers), 0.85)


@study_mutation(RULE, "Y115")
def anchor_of_less_power(study: StudyFrames) -> None:
    number = find_points(study, kind="anchor")[-1]
    scale_readings(study, select_samples(study, [number]), 0.85)
