"""Mutations that the rule `cap-without-effect` must find."""

from rules.checks.across.cap_without_effect import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, scale_readings, select_load


@pairing(RULE, "C102")
def far_lower_cap_ignored(lower: EvidenceFrames, higher: EvidenceFrames) -> None:
    declare_cap(lower, higher.result["power"]["cap_w"] / 2)


@pairing(RULE)
def slightly_lower_cap_ignored(lower: EvidenceFrames, higher: EvidenceFrames) -> None:
    mean_w = lower.samples.loc[select_load(lower), "power_mw"].mean() / 1e3
    declare_cap(lower, round(mean_w) - 5)


@pairing(RULE)
def cap_said_to_limit_far_above_the_power(lower: EvidenceFrames, higher: EvidenceFrames) -> None:
    """Both draw less than they did, and the slowdown reason still says that the cap is what holds
    them."""
    for evidence in (lower, higher):
        scale_readings(evidence, 0.86)
    declare_cap(lower, higher.result["power"]["cap_w"] * 0.9)
