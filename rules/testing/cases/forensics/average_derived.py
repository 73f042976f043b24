"""Mutations that the rule `average-derived` must find."""

from rules.checks.forensics.average_derived import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first


def derive_average(evidence: EvidenceFrames, length: int, *accelerators: str) -> None:
    for accelerator in accelerators:
        board_rows = (evidence.samples["accelerator"] == accelerator).to_numpy(bool)
        mean_mw = evidence.samples.loc[board_rows, "power_mw"].rolling(length, min_periods=1).mean()
        evidence.samples.loc[board_rows, "power_avg_mw"] = mean_mw.round()


@mutation(RULE, may_report=("W106",))
def average_over_ten_readings(evidence: EvidenceFrames) -> None:
    derive_average(evidence, 10, *evidence.samples["accelerator"].unique())


@mutation(RULE, may_report=("W106",))
def average_over_five_readings_on_one_board(evidence: EvidenceFrames) -> None:
    derive_average(
        evidence,
        5,
        str(evidence.samples.loc[select_first(evidence), "accelerator"].iloc[0]),
    )
