"""Mutations that the rule `average-as-instantaneous` must find."""

from rules.checks.power.average_as_instantaneous import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first


@mutation(RULE, may_report=("W106",))
def one_column_for_both(evidence: EvidenceFrames) -> None:
    evidence.samples["power_avg_mw"] = evidence.samples["power_mw"]


@mutation(RULE, may_report=("W106",))
def one_column_for_both_on_one_board(evidence: EvidenceFrames) -> None:
    first_board = select_first(evidence)
    evidence.samples.loc[first_board, "power_avg_mw"] = evidence.samples.loc[
        first_board, "power_mw"
    ]
