"""Mutations that the rule `readings-of-another-scale` must find."""

from rules.checks.study.readings_of_another_scale import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import (
    MODEL,
    OTHER_MODEL,
    find_points,
    scale_readings,
    select_samples,
)


@study_mutation(RULE)
def energy_of_a_model_lowered(study: StudyFrames) -> None:
    scale_readings(study, select_samples(study, find_points(study, MODEL)), 0.9)


@study_mutation(RULE)
def energy_of_a_model_raised(study: StudyFrames) -> None:
    scale_readings(study, select_samples(study, find_points(study, OTHER_MODEL)), 1.05)
