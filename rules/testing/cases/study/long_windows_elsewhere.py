"""Mutations that the rule `long-windows-elsewhere` must find."""

from rules.checks.study.long_windows_elsewhere import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, drop_points, find_points


@study_mutation(RULE)
def worse_long_window_left_out(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL, "long")[1:])


@study_mutation(RULE)
def long_window_at_another_size(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "long")[0]
    for column in ("batch", "items"):
        study.points.loc[number, column] *= 16
