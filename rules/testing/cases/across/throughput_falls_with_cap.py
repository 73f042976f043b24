"""Mutations that the rule `throughput-falls-with-cap` must find."""

from rules.checks.across.throughput_falls_with_cap import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, scale_readings, slow_down


@pairing(RULE)
def caps_exchanged(higher: EvidenceFrames, lower: EvidenceFrames) -> None:
    """Of a run at 700 W and one at 630 W, each says the cap of the other; the power readings are
    set right."""
    declare_cap(lower, lower.result["power"]["cap_w"] * 0.9)
    scale_readings(lower, 0.9)
    slow_down(higher, 0.9)


@pairing(RULE)
def run_at_a_higher_cap_on_a_disturbed_node(higher: EvidenceFrames, lower: EvidenceFrames) -> None:
    declare_cap(lower, lower.result["power"]["cap_w"] * 0.95)
    scale_readings(lower, 0.94)
    slow_down(higher, 0.96)
