"""Mutations that the rule `sm-clock-not-kept` must find."""

from rules.checks.caps.sm_clock_not_kept import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import lock_sm_clock, select_every, select_load


@mutation(RULE)
def unlocked_now_and_then(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.samples.loc[select_every(40, select_load(evidence)), "sm_mhz"] = 1980.0


@mutation(RULE)
def unlocked_in_one_epoch(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.samples.loc[select_load(evidence, 5), "sm_mhz"] = 1245.0


@mutation(RULE)
def another_clock_declared(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.result["power"]["sm_clock_mhz"] = 1140


@mutation(RULE)
def no_clock_sampled(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.samples.loc[select_load(evidence), "sm_mhz"] = float("nan")


@mutation(RULE)
def higher_than_any_clock_of_the_board(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1980)
    evidence.result["power"]["sm_clock_mhz"] = 1995
