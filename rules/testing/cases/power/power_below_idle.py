"""Mutations that the rule `power-below-idle` must find."""

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.power.power_below_idle import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first, select_load


@mutation(RULE, "W113", may_report=("W119",))
def watts_for_milliwatts(evidence: EvidenceFrames) -> None:
    columns = [*POWER_COLUMNS, "energy_mj"]
    evidence.samples.loc[select_first(evidence), columns] = (
        evidence.samples.loc[select_first(evidence), columns] / 1e3
    ).round()


@mutation(RULE)
def dips(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(150, select_load(evidence)), "power_mw"] = 12_345.0
