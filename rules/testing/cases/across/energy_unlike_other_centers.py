"""Mutations that the rule `energy-unlike-other-centers` must find."""

from rules.checks.across.energy_unlike_other_centers import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, slow_down


@pairing(RULE, both_at_fault=True, other_center=True)
def energy_an_eighth_lower_than_elsewhere(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    scale_readings(run, 0.875)


@pairing(RULE, both_at_fault=True, other_center=True)
def slower_than_elsewhere_at_the_same_power(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    slow_down(run, 0.85)
