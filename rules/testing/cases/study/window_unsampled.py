"""Mutations that the rule `window-unsampled` must find."""

from rules.checks.study.window_unsampled import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples


@study_mutation(RULE)
def ticks_of_half_a_second_left_out(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long")[:1]).nonzero()[0]
    study.samples = study.samples.drop(index=rows[20:25].tolist()).reset_index(drop=True)


@study_mutation(RULE, "Y116")
def samples_end_before_the_last_window(study: StudyFrames) -> None:
    study.samples = study.samples.iloc[:-80].reset_index(drop=True)
