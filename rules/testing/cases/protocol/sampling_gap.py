"""Mutations that the rule `sampling-gap` must find."""

import numpy as np

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.protocol.sampling_gap import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import drop_ticks, select_load


@mutation(RULE)
def five_ticks_missed(evidence: EvidenceFrames) -> None:
    ticks = evidence.samples["scheduled_ns"].to_numpy()[select_load(evidence, 5)]
    drop_ticks(evidence, ticks[100:105])


@mutation(RULE)
def five_readings_failed(evidence: EvidenceFrames) -> None:
    rows = np.flatnonzero(select_load(evidence, 3))[60:65]
    evidence.samples.loc[rows, list(POWER_COLUMNS)] = np.nan
    evidence.samples.loc[rows, "status"] = "power: timeout"
