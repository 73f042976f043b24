"""Mutations that the rule `session-times-contradict` must find."""

from rules.checks.study.session_times_contradict import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE)
def session_of_another_day(study: StudyFrames) -> None:
    study.study["sessions"][0]["started_at"] = "2026-01-02T00:00:00Z"


@study_mutation(RULE)
def date_that_does_not_exist(study: StudyFrames) -> None:
    study.study["sessions"][0]["started_at"] = "2026-02-30T00:00:00Z"


@study_mutation(RULE)
def samples_of_another_hour(study: StudyFrames) -> None:
    for pair in study.study["sessions"][0]["clocks"]:
        pair["monotonic_ns"] += 3_600_000_000_000


@study_mutation(RULE, sessions=2)
def one_board_in_two_sessions_at_once(study: StudyFrames) -> None:
    first, second = study.study["sessions"]
    uuid = first["accelerators"][0]
    study.points["accelerator"] = uuid
    study.samples["accelerator"] = uuid
    study.system["nodes"][1]["accelerators"][0]["uuid"] = uuid
    for entry in study.study["work"]:
        entry["accelerator"] = uuid
    for readback in second["readbacks"]:
        readback["accelerator"] = uuid
    begin_ns = first["clocks"][0]["wall_ns"] + 60_000_000_000
    shift_ns = second["clocks"][0]["wall_ns"] - begin_ns
    for pair in second["clocks"]:
        pair["wall_ns"] -= shift_ns
    second.update(accelerators=[uuid], idle_w={uuid: 120.0}, started_at=first["started_at"])
