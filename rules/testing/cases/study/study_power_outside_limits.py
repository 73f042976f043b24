"""Mutations that the rule `study-power-outside-limits` must find."""

from rules.checks.study.study_power_outside_limits import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import MODEL, find_points, scale_readings, select_samples


@study_mutation(RULE)
def readings_of_a_long_window_failed(study: StudyFrames) -> None:
    number = find_points(study, MODEL, "long")[0]
    scale_readings(study, select_samples(study, [number]), 0.2)


@study_mutation(RULE)
def cap_not_kept(study: StudyFrames) -> None:
    session = study.study["sessions"][0]
    session["power"]["cap_w"] = 600.0
    for readback in session["readbacks"]:
        readback["enforced_mw"] = readback["requested_mw"] = 600_000
    study.samples["cap_mw"] = 600_000.0
