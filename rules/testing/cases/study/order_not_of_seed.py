"""Mutations that the rule `order-not-of-seed` must find."""

from rules.checks.study.order_not_of_seed import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import exchange_models


@study_mutation(RULE)
def another_seed(study: StudyFrames) -> None:
    study.study["seed"] += 1


@study_mutation(RULE)
def work_sorted_by_name(study: StudyFrames) -> None:
    study.study["work"].sort(key=lambda entry: str(entry["architecture"]))


@study_mutation(RULE, sessions=2)
def two_entries_of_one_board_swapped(study: StudyFrames) -> None:
    work = study.study["work"]
    work[0], work[1] = work[1], work[0]


@study_mutation(RULE, sessions=2)
def entries_of_two_boards_exchanged(study: StudyFrames) -> None:
    work = study.study["work"]
    work[2], work[3] = work[3], work[2]


@study_mutation(RULE, "Y101", sessions=2)
def models_of_the_last_session_exchanged(study: StudyFrames) -> None:
    names = [e["architecture"] for e in study.study["work"] if e["session"] == 1]
    exchange_models(study, *names[:2])
