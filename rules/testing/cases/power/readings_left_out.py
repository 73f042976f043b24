"""Mutations that the rule `readings-left-out` must find."""

import numpy as np

from rules.bundle_format.records import TEXT_COLUMNS
from rules.checks.power.readings_left_out import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first, select_load


def leave_out(evidence: EvidenceFrames, column: str) -> None:
    evidence.samples.loc[select_first(evidence), column] = "" if column in TEXT_COLUMNS else np.nan


@mutation(RULE)
def reasons_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "slowdown")


@mutation(RULE)
def clock_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "sm_mhz")


@mutation(RULE)
def cap_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "cap_mw")


@mutation(RULE, "C105")
def power_state_left_out_and_not_declared(evidence: EvidenceFrames) -> None:
    evidence.samples["power_state"] = ""
    evidence.result["power"]["state"] = None


@mutation(RULE)
def instants_left_out(evidence: EvidenceFrames) -> None:
    leave_out(evidence, "power_mw")


@mutation(RULE)
def reasons_left_out_where_they_would_tell(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(20, select_load(evidence)), "slowdown"] = np.nan
