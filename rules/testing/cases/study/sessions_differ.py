"""Mutations that the rule `sessions-differ` must find."""

from rules.checks.study.sessions_differ import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames


@study_mutation(RULE, sessions=2)
def second_session_at_another_cap(study: StudyFrames) -> None:
    session = study.study["sessions"][1]
    session["power"]["cap_w"] = 690.0
    for readback in session["readbacks"]:
        readback["enforced_mw"] = readback["requested_mw"] = 690_000
    study.samples.loc[study.samples["node"] == "session1", "cap_mw"] = 690_000.0


@study_mutation(RULE, sessions=2)
def second_session_with_another_driver(study: StudyFrames) -> None:
    study.study["sessions"][1]["versions"]["driver"] = "570.86.15"


@study_mutation(RULE, sessions=2)
def second_session_on_a_board_of_another_kind(study: StudyFrames) -> None:
    board = study.system["nodes"][1]["accelerators"][0]
    board["name"] = "NVIDIA H100 80GB HBM3"
