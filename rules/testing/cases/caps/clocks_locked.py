"""Mutations that the rule `clocks-locked` must find."""

from rules.checks.caps.clocks_locked import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, select_first, select_load


def lock_clocks(evidence: EvidenceFrames, mhz: float, slowdown: float) -> None:
    load = select_load(evidence)
    evidence.samples.loc[load, "sm_mhz"] = mhz
    evidence.samples.loc[load, "slowdown"] = slowdown
    scale_readings(evidence, 0.7, select_first(evidence))


@mutation(RULE, "C112")
def locked_below_the_boost_clock(evidence: EvidenceFrames) -> None:
    lock_clocks(evidence, 1200.0, 0.0)


@mutation(RULE, "C108", "C112")
def locked_and_said_by_the_driver(evidence: EvidenceFrames) -> None:
    lock_clocks(evidence, 1305.0, float(0x2))
