"""Ways to copy windows of another study that the rule `study-windows-shared` must find."""

from rules.checks.study.study_windows_shared import RULE
from rules.testing.case import study_pairing
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, copy_readings


def copy_study(study: StudyFrames, other: StudyFrames) -> None:
    for name in ("study", "system", "samples", "points", "batches"):
        setattr(study, name, getattr(other, name))


@study_pairing(RULE, other_center=True)
def whole_study_of_another_center(study: StudyFrames, other: StudyFrames) -> None:
    copy_study(study, other)


@study_pairing(RULE)
def one_study_twice(study: StudyFrames, other: StudyFrames) -> None:
    copy_study(study, other)


@study_pairing(RULE, other_center=True)
def readings_of_one_model(study: StudyFrames, other: StudyFrames) -> None:
    copy_readings(study, other, MODEL)


@study_pairing(RULE, other_center=True)
def delays_kept_where_power_was_invented(study: StudyFrames, other: StudyFrames) -> None:
    count = min(len(study.samples), len(other.samples))
    delays_ns = (other.samples["read_ns"] - other.samples["scheduled_ns"]).to_numpy()[:count]
    study.samples.loc[: count - 1, "read_ns"] = (
        study.samples["scheduled_ns"].to_numpy()[:count] + delays_ns
    )
