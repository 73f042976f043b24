"""Mutations that the rule `study-figures-not-computable` must find."""

from rules.checks.study.study_figures_not_computable import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points


@study_mutation(RULE, "Y110")
def samples_begin_after_the_first_window(study: StudyFrames) -> None:
    # The burn-in takes 30 s, and the first windows 1 s each.
    study.samples = study.samples.iloc[345:].reset_index(drop=True)


@study_mutation(RULE, "Y108")
def part_outside_its_window(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "long")[0]
    part = study.batches.index[study.batches["point"] == number][-1]
    study.batches.loc[part, "end_ns"] += 1_000_000
