"""Mutations that the rule `work-contradicts-points` must find."""

from rules.checks.study.work_contradicts_points import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, OTHER_MODEL, drop_points


@study_mutation(RULE)
def measured_entry_called_skipped(study: StudyFrames) -> None:
    study.study["work"][0].update(status="skipped", reason="out-of-memory at batch 1")


@study_mutation(RULE)
def points_of_a_model_left_out(study: StudyFrames) -> None:
    rows = study.points.index[study.points["architecture"] == MODEL]
    drop_points(study, rows)


@study_mutation(RULE)
def entry_left_out(study: StudyFrames) -> None:
    study.study["work"] = [
        entry for entry in study.study["work"] if entry["architecture"] != OTHER_MODEL
    ]


@study_mutation(RULE, sessions=2)
def entry_of_the_other_session(study: StudyFrames) -> None:
    study.study["work"][0].update(
        {name: study.study["work"][-1][name] for name in ("session", "accelerator")}
    )
