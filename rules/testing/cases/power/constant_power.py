"""Mutations that the rule `constant-power` must find."""

import numpy as np

from rules.checks.power.constant_power import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


def _fill_in(evidence: EvidenceFrames, *epochs: int) -> None:
    for epoch in epochs:
        load = select_load(evidence, epoch)
        evidence.samples.loc[load, "power_mw"] = np.round(
            evidence.samples.loc[load, "power_mw"].mean()
        )


@mutation(RULE)
def one_epoch_filled_in_with_its_mean(evidence: EvidenceFrames) -> None:
    _fill_in(evidence, 3)


@mutation(RULE)
def all_epochs_filled_in_with_their_means(evidence: EvidenceFrames) -> None:
    _fill_in(evidence, *range(int(evidence.batches["epoch"].max()) + 1))
