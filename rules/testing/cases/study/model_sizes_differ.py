"""Mutations that the rule `model-sizes-differ` must find."""

from rules.checks.study.model_sizes_differ import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import LARGEST, MODEL, find_points


@study_mutation(RULE)
def flops_of_a_tool_that_leaves_out_attention(study: StudyFrames) -> None:
    rows = study.points.index[study.points["architecture"] == LARGEST]
    study.points.loc[rows, "flops"] = 24_000_000_000


@study_mutation(RULE)
def activations_of_one_point_altered(study: StudyFrames) -> None:
    study.points.loc[find_points(study, MODEL)[3], "activations"] += 1_000_000


@study_mutation(RULE)
def parameters_of_another_model(study: StudyFrames) -> None:
    study.points.loc[find_points(study, MODEL), "params"] = 50_000_000
