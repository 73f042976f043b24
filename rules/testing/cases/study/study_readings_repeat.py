"""Mutations that the rule `study-readings-repeat` must find."""

from rules.checks.study.study_readings_repeat import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import LARGEST, find_points, select_samples


def copy_readings(study: StudyFrames, source: int, target: int) -> None:
    source_rows, target_rows = (
        select_samples(study, [number]).nonzero()[0][:95] for number in (source, target)
    )
    study.samples.loc[target_rows, "power_mw"] = study.samples.loc[
        source_rows, "power_mw"
    ].to_numpy()


@study_mutation(RULE)
def readings_of_the_other_long_window(study: StudyFrames) -> None:
    first, second = find_points(study, LARGEST, "long")
    copy_readings(study, first, second)


@study_mutation(RULE)
def anchor_copied(study: StudyFrames) -> None:
    first, second = find_points(study, kind="anchor")
    copy_readings(study, first, second)
