"""Mutations that the rule `study-settings-eased` must find."""

from rules.checks.study.study_settings_eased import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE)
def anchors_every_hundred_models(study: StudyFrames) -> None:
    study.study["settings"]["anchor"]["every"] = 100


@study_mutation(RULE, "Y105")
def ladders_end_after_two_sizes(study: StudyFrames) -> None:
    study.study["settings"]["early_stop_sizes"] = 2


@study_mutation(RULE, "Y105")
def ladders_end_at_64(study: StudyFrames) -> None:
    study.study["settings"]["max_batch"] = 64
