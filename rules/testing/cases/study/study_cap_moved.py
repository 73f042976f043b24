"""Mutations that the rule `study-cap-moved` must find."""

from rules.checks.study.study_cap_moved import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples


@study_mutation(RULE)
def another_cap_after_a_model(study: StudyFrames) -> None:
    study.study["sessions"][0]["readbacks"][3]["enforced_mw"] = 650_000


@study_mutation(RULE)
def another_cap_during_a_model(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL))
    study.samples.loc[rows, "cap_mw"] = 650_000.0
