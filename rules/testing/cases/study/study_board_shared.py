"""Mutations that the rule `study-board-shared` must find."""

from rules.checks.study.study_board_shared import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE)
def process_of_somebody_else(study: StudyFrames) -> None:
    study.study["sessions"][0]["readbacks"][2]["foreign_processes"] = 1


@study_mutation(RULE)
def partitioned(study: StudyFrames) -> None:
    for readback in study.study["sessions"][0]["readbacks"]:
        readback["mig"] = True


@study_mutation(RULE)
def memory_errors(study: StudyFrames) -> None:
    study.study["sessions"][0]["readbacks"][-1]["ecc_uncorrected"] = 2
