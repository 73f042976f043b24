"""Mutations that the rule `rank-draws-less` must find."""

from rules.checks.power.rank_draws_less import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import READINGS, add_twin


def lower_second_board(evidence: EvidenceFrames, share: float) -> None:
    if len(evidence.result["ranks"]) == 1:
        add_twin(evidence)
    samples = evidence.samples
    rows = samples["accelerator"] == samples["accelerator"].max()
    for column in READINGS:
        samples.loc[rows, column] = (samples.loc[rows, column] * share).round()


@mutation(RULE, may_report=("W119", "W109", "W103"))
def board_at_half_the_power(evidence: EvidenceFrames) -> None:
    lower_second_board(evidence, 0.5)


@mutation(RULE, may_report=("W119", "W109", "W103"))
def board_at_seven_tenths_of_the_power(evidence: EvidenceFrames) -> None:
    lower_second_board(evidence, 0.7)
