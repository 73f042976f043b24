"""Mutations that the rule `counter-frozen` must find."""

import numpy as np

from rules.checks.energy.counter_frozen import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch, select_first, select_load


@mutation(RULE)
def counter_stands_still(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_first(evidence), "energy_mj"] = evidence.samples.loc[
        select_first(evidence), "energy_mj"
    ].min()


@mutation(RULE)
def counter_gets_stuck(evidence: EvidenceFrames) -> None:
    own = np.flatnonzero(select_first(evidence))
    begin = np.flatnonzero(select_load(evidence, get_last_epoch(evidence)))[0]
    after = own[np.searchsorted(own, begin) - 1 :]  # from the last sample before the epoch on
    evidence.samples.loc[after, "energy_mj"] = evidence.samples.loc[after[0], "energy_mj"]
