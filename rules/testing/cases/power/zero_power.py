"""Mutations that the rule `zero-power` must find."""

from rules.checks.power.zero_power import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_load


@mutation(RULE)
def some_readings_zero(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = 0.0


@mutation(RULE)
def averages_zero(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "power_avg_mw"] = 0.0


@mutation(RULE, "E103", "E104", may_report=("W119",))
def one_epoch_zero(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence, 2, 3), "power_mw"] = 0.0
