"""Mutations that the rule `limited-below-cap` must find."""

from rules.checks.power.limited_below_cap import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, select_load


def lower_clocks(evidence: EvidenceFrames) -> None:
    """Lower all clocks under load by 300 MHz. The measured bundle is near its highest clock."""
    evidence.samples.loc[select_load(evidence), "sm_mhz"] -= 300.0


@mutation(RULE)
def readings_seven_percent_lower(evidence: EvidenceFrames) -> None:
    lower_clocks(evidence)
    scale_readings(evidence, 0.93)


@mutation(RULE, "C112")
def readings_an_eighth_lower_and_no_slowdown_reason(evidence: EvidenceFrames) -> None:
    lower_clocks(evidence)
    scale_readings(evidence, 0.875)
    evidence.samples.loc[select_load(evidence), "slowdown"] = 0.0
