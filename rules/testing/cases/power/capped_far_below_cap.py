"""Mutations that the rule `capped-far-below-cap` must find."""

from rules.checks.power.capped_far_below_cap import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import scale_readings, select_first


@mutation(RULE)
def power_and_energy_halved(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.5)


@mutation(RULE)
def power_and_energy_of_one_board_halved(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.5, select_first(evidence))


@mutation(RULE)
def power_and_energy_cut_by_a_quarter(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.75)
