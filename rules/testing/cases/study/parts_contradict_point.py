"""Mutations that the rule `parts-contradict-point` must find."""

from rules.checks.study.parts_contradict_point import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points


@study_mutation(RULE)
def one_more_batch_counted(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "long")[0]
    study.points.loc[number, "items"] += study.points.loc[number, "batch"]


@study_mutation(RULE)
def pause_between_parts(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "long")[0]
    part = study.batches.index[study.batches["point"] == number][3]
    study.batches.loc[part, "start_ns"] += 50_000_000


@study_mutation(RULE)
def window_longer_than_its_parts(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "ladder")[0]
    study.points.loc[number, "start_ns"] -= 20_000_000
