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
    board_rows = np.flatnonzero(select_first(evidence))
    first_load_row = np.flatnonzero(select_load(evidence, get_last_epoch(evidence)))[0]
    # The counter stops at the last sample before the epoch, so that the epoch has no energy at all.
    stuck_rows = board_rows[np.searchsorted(board_rows, first_load_row) - 1 :]
    evidence.samples.loc[stuck_rows, "energy_mj"] = evidence.samples.loc[stuck_rows[0], "energy_mj"]
