"""Mutations that the rule `study-power-state-differs` must find."""

from rules.checks.study.study_power_state_differs import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE)
def lower_state_throughout(study: StudyFrames) -> None:
    study.samples["power_state"] = "P2"


@study_mutation(RULE)
def lower_state_in_a_twentieth(study: StudyFrames) -> None:
    study.samples.loc[::20, "power_state"] = "P2"
