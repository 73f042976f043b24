"""Mutations that the rule `slowdown-in-window` must find."""

from rules.checks.study.slowdown_in_window import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples


@study_mutation(RULE)
def thermal_slowdown_in_a_long_window(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long")[:1]).nonzero()[0]
    study.samples.loc[rows[5:8], "slowdown"] = float(0x20)


@study_mutation(RULE)
def power_brake_in_a_ladder(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "ladder")[:1]).nonzero()[0]
    study.samples.loc[rows[2:3], "slowdown"] = float(0x80)
