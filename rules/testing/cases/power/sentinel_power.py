"""Mutations that the rule `sentinel-power` must find."""

from rules.checks.power.sentinel_power import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_load


@mutation(RULE)
def sixteen_bits_of_ones(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = 65_535.0


@mutation(RULE)
def thirty_two_bits_of_ones_in_the_average(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(70, select_load(evidence)), "power_avg_mw"] = 4_294_967_295.0


@mutation(RULE)
def negative_power(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = -1.0


@mutation(RULE, "W106", "C102", "E103", "E104")
def thirty_two_bits_of_ones(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = 4_294_967_295.0
