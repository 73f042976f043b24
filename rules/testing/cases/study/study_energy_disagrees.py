"""Mutations that the rule `study-energy-disagrees` must find."""

from rules.checks.study.study_energy_disagrees import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, select_samples


@study_mutation(RULE)
def counter_of_another_scale(study: StudyFrames) -> None:
    first_mj = study.samples["energy_mj"].iloc[0]
    study.samples["energy_mj"] = (first_mj + (study.samples["energy_mj"] - first_mj) * 1.05).round()


@study_mutation(RULE)
def power_lowered_without_the_counter(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long"))
    study.samples.loc[rows, "power_mw"] = (study.samples.loc[rows, "power_mw"] * 0.95).round()


@study_mutation(RULE)
def both_powers_lowered_without_the_counter(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long"))
    for column in ("power_mw", "power_avg_mw"):
        study.samples.loc[rows, column] = (study.samples.loc[rows, column] * 0.95).round()


@study_mutation(RULE)
def counter_that_stands_still(study: StudyFrames) -> None:
    study.samples["energy_mj"] = study.samples["energy_mj"].iloc[0]
