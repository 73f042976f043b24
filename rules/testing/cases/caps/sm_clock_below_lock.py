"""Mutations that the rule `sm-clock-below-lock` must find."""

from rules.checks.caps.sm_clock_below_lock import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import lock_sm_clock, select_every, select_load


@mutation(RULE)
def held_by_the_cap_all_the_time(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    evidence.samples.loc[select_load(evidence), ["sm_mhz", "slowdown"]] = (1125.0, float(0x4))


@mutation(RULE)
def held_by_the_cap_now_and_then(evidence: EvidenceFrames) -> None:
    lock_sm_clock(evidence, 1200)
    capped = select_every(30, select_load(evidence))
    evidence.samples.loc[capped, ["sm_mhz", "slowdown"]] = (1155.0, float(0x4))
