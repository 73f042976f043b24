"""Mutations that the rule `accuracy-table-unknown` must find."""

from rules.checks.study.accuracy_table_unknown import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE)
def table_of_its_own(study: StudyFrames) -> None:
    study.study["accuracy"]["sha256"] = "1" * 64


@study_mutation(RULE)
def no_digest(study: StudyFrames) -> None:
    study.study["accuracy"]["sha256"] = "0" * 64
