"""Mutations that the rule `readings-without-grain` must find."""

import numpy as np

from rules.checks.forensics.readings_without_grain import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first


@mutation(RULE)
def readings_jittered(evidence: EvidenceFrames) -> None:
    random = np.random.default_rng(1)
    evidence.samples["power_mw"] += random.normal(0, 800, len(evidence.samples)).round()


@mutation(RULE)
def readings_rounded_to_watts(evidence: EvidenceFrames) -> None:
    evidence.samples["power_mw"] = (evidence.samples["power_mw"] / 1e3).round() * 1e3


@mutation(RULE)
def readings_of_one_board_smoothed(evidence: EvidenceFrames) -> None:
    first_board = select_first(evidence)
    smoothed = evidence.samples.loc[first_board, "power_mw"].ewm(alpha=0.5).mean()
    evidence.samples.loc[first_board, "power_mw"] = smoothed.round()
