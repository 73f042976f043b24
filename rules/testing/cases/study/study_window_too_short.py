"""Mutations that the rule `study-window-too-short` must find."""

from rules.checks.study.study_window_too_short import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import OTHER_MODEL, count_batches, find_points


@study_mutation(RULE)
def nine_parts_of_a_long_window(study: StudyFrames) -> None:
    number = find_points(study, OTHER_MODEL, "long")[0]
    parts = study.batches[study.batches["point"] == number]
    last = parts.iloc[-1]
    study.points.loc[number, "end_ns"] = last["start_ns"]
    study.points.loc[number, "items"] -= last["batches"] * study.points.loc[number, "batch"]
    study.batches = study.batches.drop(parts.index[-1]).reset_index(drop=True)


@study_mutation(RULE)
def ten_batches_in_a_long_window(study: StudyFrames) -> None:
    count_batches(study, find_points(study, OTHER_MODEL, "long")[0], 1e-3)


@study_mutation(RULE)
def half_a_second_of_a_ladder(study: StudyFrames) -> None:
    number = find_points(study, OTHER_MODEL, "ladder")[0]
    count_batches(study, number, 0.5)
    half_ns = int(study.points.loc[number, "end_ns"] - study.points.loc[number, "start_ns"]) // 2
    part = study.batches.index[study.batches["point"] == number]
    study.points.loc[number, "end_ns"] -= half_ns
    study.batches.loc[part, "end_ns"] -= half_ns
