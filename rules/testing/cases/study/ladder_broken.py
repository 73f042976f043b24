"""Mutations that the rule `ladder-broken` must find."""

from rules.checks.study.ladder_broken import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import LARGEST, MODEL, drop_points, find_points


@study_mutation(RULE)
def step_deleted(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL, "ladder")[2:3])


@study_mutation(RULE)
def first_step_deleted(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL, "ladder")[:1])


@study_mutation(RULE)
def ended_early(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL, "ladder")[-1:])


@study_mutation(RULE)
def size_that_did_not_run_left_out(study: StudyFrames) -> None:
    failed = (study.points["architecture"] == LARGEST) & (study.points["outcome"] != "ok")
    drop_points(study, failed.to_numpy().nonzero()[0])
