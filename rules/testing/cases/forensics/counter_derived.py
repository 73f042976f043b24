"""Mutations that the rule `counter-derived` must find."""

import numpy as np

from rules.checks.forensics.counter_derived import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_first_accelerator


def _sum_up(evidence: EvidenceFrames, accelerator: str, trapezoid: bool) -> None:
    own = (evidence.samples["accelerator"] == accelerator).to_numpy(bool)
    power = evidence.samples.loc[own, "power_mw"].ffill().bfill().to_numpy(np.float64)
    seconds = evidence.samples.loc[own, "read_ns"].to_numpy(np.int64) / 1e9
    given = (power[1:] + power[:-1]) / 2 if trapezoid else power[1:]
    energy = evidence.samples.loc[own, "energy_mj"].iloc[0] + np.concatenate(
        ([0.0], np.cumsum(given * np.diff(seconds)))
    )
    evidence.samples.loc[own, "energy_mj"] = energy.round()


@mutation(RULE)
def counter_from_the_trapezoid(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.samples["accelerator"].unique():
        _sum_up(evidence, accelerator, trapezoid=True)


@mutation(RULE)
def counter_of_one_board_from_the_later_reading(evidence: EvidenceFrames) -> None:
    _sum_up(evidence, get_first_accelerator(evidence), trapezoid=False)
