"""Mutations that the rule `study-figures-differ` must find."""

from rules.checks.study.study_figures_differ import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE, rederive=False)
def energy_of_a_model_lowered(study: StudyFrames) -> None:
    study.study["figures"]["results"][2]["best"]["joules_per_image"] *= 0.9


@study_mutation(RULE, rederive=False)
def results_of_two_models_exchanged(study: StudyFrames) -> None:
    results = study.study["figures"]["results"]
    results[1]["best"], results[2]["best"] = results[2]["best"], results[1]["best"]


@study_mutation(RULE, rederive=False)
def drift_of_anchors_left_out(study: StudyFrames) -> None:
    study.study["figures"]["anchors"][0]["drift"] = 0.0


@study_mutation(RULE, rederive=False)
def fit_that_looks_better(study: StudyFrames) -> None:
    study.study["figures"]["setups"][0]["fit"]["r2"] = 0.999
