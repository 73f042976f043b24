"""Mutations that the rule `power-apart-from-counter` must find."""

import numpy as np

from rules.checks.forensics.power_apart_from_counter import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load, shuffle_readings


@mutation(RULE, may_report=("E104",))
def readings_shuffled(evidence: EvidenceFrames) -> None:
    shuffle_readings(evidence, 2)


@mutation(RULE, may_report=("E104",))
def readings_drawn_at_random(evidence: EvidenceFrames) -> None:
    load = np.flatnonzero(select_load(evidence))
    power_mw = evidence.samples.loc[load, "power_mw"]
    deviations_mw = np.random.default_rng(3).normal(0, power_mw.std(), len(load))
    evidence.samples.loc[load, "power_mw"] = (
        power_mw.mean() + deviations_mw - deviations_mw.mean()
    ).round()
