"""Mutations that the rule `average-as-instantaneous` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.power.average_as_instantaneous import RULE
from rules.testing.case import mutation
from rules.testing.mutations import of_first


@mutation(RULE, may_report=("W106",))
def one_column_for_both(evidence: Evidence) -> None:
    evidence.samples["power_avg_mw"] = evidence.samples["power_mw"]


@mutation(RULE, may_report=("W106",))
def one_column_for_both_on_one_board(evidence: Evidence) -> None:
    own = of_first(evidence)
    evidence.samples.loc[own, "power_avg_mw"] = evidence.samples.loc[own, "power_mw"]
