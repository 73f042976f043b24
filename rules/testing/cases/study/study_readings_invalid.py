"""Mutations that the rule `study-readings-invalid` must find."""

import numpy as np

from rules.checks.study.study_readings_invalid import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples


@study_mutation(RULE)
def zeros(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long")).nonzero()[0]
    study.samples.loc[rows[10:11], "power_mw"] = 0.0


@study_mutation(RULE)
def value_for_not_available(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL)).nonzero()[0]
    study.samples.loc[rows[:1], "power_avg_mw"] = 65535.0


@study_mutation(RULE)
def reads_that_failed(study: StudyFrames) -> None:
    # Ladders are climbed by the samples in and next to their windows, which stay.
    rows = select_samples(study, find_points(study, kind="long")).nonzero()[0][::30]
    study.samples.loc[rows, "power_mw"] = np.nan
    study.samples.loc[rows, "status"] = "timeout"


@study_mutation(RULE)
def sensor_that_stopped(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long")[:1])
    study.samples.loc[rows, "power_mw"] = float(study.samples.loc[rows, "power_mw"].iloc[0])
