"""Mutations that the rule `study-windows-overlap` must find."""

from rules.checks.study.study_windows_overlap import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, OTHER_MODEL, find_points


def move_edge(study: StudyFrames, architecture: str, edge: str, nanoseconds: int) -> None:
    """Move an edge of the first window of a model, and of its part."""
    number = find_points(study, architecture, "ladder")[0]
    study.points.loc[number, edge] += nanoseconds
    study.batches.loc[study.batches["point"] == number, edge] += nanoseconds


@study_mutation(RULE)
def window_begins_within_the_one_before(study: StudyFrames) -> None:
    move_edge(study, MODEL, "start_ns", -1_500_000_000)


@study_mutation(RULE)
def window_ends_within_the_next_one(study: StudyFrames) -> None:
    move_edge(study, OTHER_MODEL, "end_ns", 1_000_000_000)
