"""Mutations that the rule `energy-of-record-wrong` must find."""

from rules.checks.energy.energy_of_record_wrong import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE, rederive=False)
def the_other_one_stated(evidence: EvidenceFrames) -> None:
    opposite = {"counter": "trapezoid", "trapezoid": "counter"}
    evidence.result["energy_of_record"] = opposite[evidence.result["energy_of_record"]]


@mutation(RULE, "E103", "E104", "T102", "T103", rederive=False)
def counter_kept_although_it_fails(evidence: EvidenceFrames) -> None:
    load = select_load(evidence)
    evidence.samples.loc[load, "power_mw"] = (evidence.samples.loc[load, "power_mw"] * 0.95).round()
