"""Mutations that the rule `clock-low-without-reason` must find."""

from rules.checks.caps.clock_low_without_reason import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def reasons_wiped(evidence: EvidenceFrames) -> None:
    load = select_load(evidence)
    evidence.samples.loc[load, "sm_mhz"] -= 100.0
    evidence.samples.loc[load, "slowdown"] = 0.0


@mutation(RULE)
def idle_given_as_the_reason(evidence: EvidenceFrames) -> None:
    load = select_load(evidence)
    evidence.samples.loc[load, "sm_mhz"] -= 100.0
    evidence.samples.loc[load, "slowdown"] = 1.0
