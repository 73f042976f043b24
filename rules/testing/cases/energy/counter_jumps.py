"""Mutations that the rule `counter-jumps` must find."""

import numpy as np

from rules.checks.energy.counter_jumps import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first, select_load


@mutation(RULE)
def jump_before_the_first_epoch(evidence: EvidenceFrames) -> None:
    board_rows = np.flatnonzero(select_first(evidence))
    evidence.samples.loc[board_rows[3:], "energy_mj"] += 5_000_000


@mutation(RULE, "E104", may_report=("E103",))
def jump_within_an_epoch(evidence: EvidenceFrames) -> None:
    board_rows, epoch_rows = (
        np.flatnonzero(select_first(evidence)),
        np.flatnonzero(select_load(evidence, 3)),
    )
    later_rows = board_rows[board_rows >= epoch_rows[len(epoch_rows) // 2]]
    evidence.samples.loc[later_rows, "energy_mj"] += 3_000_000
