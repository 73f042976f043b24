"""Mutations that the rule `temperature-constant` must find."""

import numpy as np

from rules.checks.power.temperature_constant import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def one_temperature_under_load(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence), "temp_c"] = 62.0


@mutation(RULE)
def temperature_left_out(evidence: EvidenceFrames) -> None:
    evidence.samples["temp_c"] = np.nan
