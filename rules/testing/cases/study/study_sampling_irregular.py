"""Mutations that the rule `study-sampling-irregular` must find."""

import numpy as np

from rules.checks.study.study_sampling_irregular import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import find_points, select_samples


@study_mutation(RULE)
def every_tenth_tick_left_out(study: StudyFrames) -> None:
    kept = np.arange(len(study.samples)) % 10 != 9
    study.samples = study.samples[kept].reset_index(drop=True)


@study_mutation(RULE)
def ticks_in_pairs(study: StudyFrames) -> None:
    # Ladders are climbed by the samples in and next to their windows, which stay.
    rows = select_samples(study, find_points(study, kind="long")).nonzero()[0]
    study.samples.loc[rows[1::2], "read_ns"] -= 15_000_000
