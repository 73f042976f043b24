"""Mutations that the rule `counter-derived` must find."""

import numpy as np

from rules.checks.forensics.counter_derived import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


def sum_up_counter(evidence: EvidenceFrames, accelerator: str, trapezoid: bool) -> None:
    board_rows = (evidence.samples["accelerator"] == accelerator).to_numpy(bool)
    power_mw = evidence.samples.loc[board_rows, "power_mw"].ffill().bfill().to_numpy(np.float64)
    seconds = evidence.samples.loc[board_rows, "read_ns"].to_numpy(np.int64) / 1e9
    segment_mw = (power_mw[1:] + power_mw[:-1]) / 2 if trapezoid else power_mw[1:]
    energy_mj = evidence.samples.loc[board_rows, "energy_mj"].iloc[0] + np.concatenate(
        ([0.0], np.cumsum(segment_mw * np.diff(seconds)))
    )
    evidence.samples.loc[board_rows, "energy_mj"] = energy_mj.round()


@mutation(RULE)
def counter_from_the_trapezoid(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.samples["accelerator"].unique():
        sum_up_counter(evidence, accelerator, trapezoid=True)


@mutation(RULE)
def counter_of_one_board_from_the_later_reading(evidence: EvidenceFrames) -> None:
    sum_up_counter(evidence, get_first_accelerator(evidence), trapezoid=False)
