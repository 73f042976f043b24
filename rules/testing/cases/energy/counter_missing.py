"""Mutations that the rule `counter-missing` must find."""

import numpy as np

from rules.checks.energy.counter_missing import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first, select_load


@mutation(RULE)
def counter_left_out(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_first(evidence), "energy_mj"] = np.nan


@mutation(RULE)
def every_fifth_counter_reading_left_out(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(5, select_load(evidence)), "energy_mj"] = np.nan
