"""Mutations that the rule `counter-falls` must find."""

import numpy as np

from rules.checks.energy.counter_falls import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first


@mutation(RULE)
def counter_reset_before_the_first_epoch(evidence: EvidenceFrames) -> None:
    first_row = np.flatnonzero(select_first(evidence))[0]
    evidence.samples.loc[first_row, "energy_mj"] += 5_000_000


@mutation(RULE)
def counter_reset_early(evidence: EvidenceFrames) -> None:
    early = np.flatnonzero(select_first(evidence))[:3]
    evidence.samples.loc[early, "energy_mj"] += 2.0**32
