"""Mutations that the rule `power-patterns-repeated` must find."""

import numpy as np
from numpy.typing import NDArray

from rules.checks.forensics.power_patterns_repeated import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin, get_last_epoch, select_first, select_load


def add_jitter(values: NDArray[np.float64], by_mw: float) -> NDArray[np.float64]:
    return np.round(values + np.random.default_rng(2).normal(0, by_mw, len(values)))


@mutation(RULE, may_report=("E104", "W110", "W111"))
def every_epoch_like_the_first(evidence: EvidenceFrames) -> None:
    source = np.flatnonzero(select_load(evidence, 1))
    for epoch in range(2, get_last_epoch(evidence) + 1):
        target = np.flatnonzero(select_load(evidence, epoch))
        count = min(len(source), len(target))
        values = evidence.samples.loc[source[:count], "power_mw"].to_numpy(np.float64)
        evidence.samples.loc[target[:count], "power_mw"] = add_jitter(values, 322)


@mutation(RULE)
def readings_of_one_board_given_to_another(evidence: EvidenceFrames) -> None:
    first_board = select_first(evidence)
    add_twin(evidence)
    twin = (
        evidence.samples["accelerator"] == evidence.result["ranks"][-1]["accelerators"][0]
    ).to_numpy(bool)
    values = evidence.samples["power_mw"].to_numpy(np.float64)[: len(first_board)][first_board]
    evidence.samples.loc[twin, "power_mw"] = add_jitter(values, 322)
