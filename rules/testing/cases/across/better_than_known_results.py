"""Mutations that the rule `better-than-known-results` must find."""

from rules.checks.across.better_than_known_results import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, slow_down


@pairing(RULE, other_center=True)
def energy_an_eighth_lower_than_elsewhere(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    scale_readings(run, 0.875)


@pairing(RULE, other_center=True)
def faster_than_elsewhere_at_a_higher_clock(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    slow_down(other_run, 0.85)
    other_run.samples["sm_mhz"] = (other_run.samples["sm_mhz"] * 0.85).round()
