"""Mutations that the rule `counter-jumps` must find."""

import numpy as np

from rules.checks.energy.counter_jumps import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first, select_load


@mutation(RULE)
def jump_before_the_first_epoch(evidence: EvidenceFrames) -> None:
    own = np.flatnonzero(select_first(evidence))
    evidence.samples.loc[own[3:], "energy_mj"] += 5_000_000


@mutation(RULE, "E104", may_report=("E103",))
def jump_within_an_epoch(evidence: EvidenceFrames) -> None:
    own, within = (
        np.flatnonzero(select_first(evidence)),
        np.flatnonzero(select_load(evidence, 3)),
    )
    after = own[own >= within[len(within) // 2]]
    evidence.samples.loc[after, "energy_mj"] += 3_000_000
