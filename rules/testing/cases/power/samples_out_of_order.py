"""Mutations that the rule `samples-out-of-order` must find."""

import numpy as np

from rules.checks.power.samples_out_of_order import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import concatenate, select_first


@mutation(RULE, "T101", "E101")
def two_samples_swapped(evidence: EvidenceFrames) -> None:
    board_rows = np.flatnonzero(select_first(evidence))
    order = np.arange(len(evidence.samples))
    order[[board_rows[50], board_rows[51]]] = order[[board_rows[51], board_rows[50]]]
    evidence.samples = evidence.samples.iloc[order].reset_index(drop=True)


@mutation(RULE, "T101")
def sample_doubled(evidence: EvidenceFrames) -> None:
    row = np.flatnonzero(select_first(evidence))[200]
    samples = evidence.samples
    evidence.samples = concatenate(samples[: row + 1], samples[row:])
