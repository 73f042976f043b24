"""Mutations that the rule `clock-or-slowdown-impossible` must find."""

from rules.checks.caps.clock_or_slowdown_impossible import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def clock_above_the_boost_clock(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "sm_mhz"] = 2400.0


@mutation(RULE)
def one_sample_above_the_boost_clock(evidence: EvidenceFrames) -> None:
    row = int(select_load(evidence).argmax())
    evidence.samples.loc[row, "sm_mhz"] = 2010.0


@mutation(RULE, may_report=("C112",))
def slowdown_reasons_negative(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "slowdown"] = -4.0


@mutation(RULE, may_report=("C112",))
def slowdown_reason_that_no_driver_gives(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence, 3), "slowdown"] = float(0x1000)
