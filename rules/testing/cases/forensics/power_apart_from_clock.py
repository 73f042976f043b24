"""Mutations that the rule `power-apart-from-clock` must find."""

import numpy as np

from rules.checks.forensics.power_apart_from_clock import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load, shuffle_readings


@mutation(RULE, may_report=("E104",))
def readings_shuffled(evidence: EvidenceFrames) -> None:
    shuffle_readings(evidence, 1)


@mutation(RULE, may_report=("E104",))
def readings_drawn_from_their_own_distribution(evidence: EvidenceFrames) -> None:
    load = np.flatnonzero(select_load(evidence))
    values = np.sort(evidence.samples.loc[load, "power_mw"].to_numpy())
    evidence.samples.loc[load, "power_mw"] = np.random.default_rng(2).choice(values, len(values))
