"""Mutations that the rule `power-state-differs` must find."""

from rules.checks.caps.power_state_differs import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_load


@mutation(RULE)
def now_and_then_in_another_state(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(40, select_load(evidence)), "power_state"] = "P2"


@mutation(RULE)
def another_state_declared(evidence: EvidenceFrames) -> None:
    evidence.result["power"]["state"] = (
        "auto" if evidence.result["power"]["state"] == "P0" else "P0"
    )
