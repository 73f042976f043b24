"""Mutations that the rule `performance-drifts` must find."""

import numpy as np

from rules.checks.throughput.performance_drifts import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch, shorten_batches

STEP = 0.003
"""Relative change from one epoch to the next."""


@mutation(RULE, may_report=("P103", "T122"))
def throughput_rises(evidence: EvidenceFrames) -> None:
    for epoch in range(1, get_last_epoch(evidence) + 1):
        shorten_batches(evidence, 1 - STEP * epoch, epoch)


@mutation(RULE)
def power_falls(evidence: EvidenceFrames) -> None:
    samples = evidence.samples
    begins_ns = evidence.batches.groupby("epoch")["start_ns"].min().to_numpy()
    for _, rows in samples.groupby("accelerator").groups.items():
        epoch = np.searchsorted(begins_ns, samples.loc[rows, "read_ns"].to_numpy(), side="right")
        share = 1 - STEP * epoch
        for column in ("power_mw", "power_avg_mw"):
            samples.loc[rows, column] = (samples.loc[rows, column] * share).round()
        # The counter integrates the power, so each of its steps has the share of its time.
        counter = samples.loc[rows, "energy_mj"].to_numpy()
        steps = np.diff(counter, prepend=counter[0]) * share
        samples.loc[rows, "energy_mj"] = (counter[0] + np.cumsum(steps)).round()
