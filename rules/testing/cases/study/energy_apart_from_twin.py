"""Mutations that the rule `energy-apart-from-twin` must find."""

from rules.checks.study.energy_apart_from_twin import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import OTHER_MODEL, count_batches, find_points


@study_mutation(RULE)
def half_of_the_batches_of_a_long_window(study: StudyFrames) -> None:
    count_batches(study, find_points(study, OTHER_MODEL, "long")[0], 0.5)


@study_mutation(RULE, "Y115")
def slow_anchor(study: StudyFrames) -> None:
    count_batches(study, find_points(study, kind="anchor")[-1], 0.5)
