"""Mutations that the rule `power-apart-from-batches` must find."""

import numpy as np

from rules.checks.forensics.power_apart_from_batches import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import shuffle_readings


@mutation(RULE, may_report=("E104",))
def readings_shuffled(evidence: EvidenceFrames) -> None:
    shuffle_readings(evidence, 4)


@mutation(RULE, may_report=("E104", "W110"))
def batches_of_another_run(evidence: EvidenceFrames) -> None:
    """As many batches over the same epochs, that begin when they like."""
    random, batches = np.random.default_rng(6), evidence.batches
    for _, epoch_batches in batches.groupby(["epoch", "rank"]):
        start, end = int(epoch_batches["start_ns"].min()), int(epoch_batches["end_ns"].max())
        share = np.concatenate(([0.0], np.cumsum(random.uniform(0.6, 1.4, len(epoch_batches)))))
        edges = start + (share / share[-1] * (end - start)).astype(np.int64)
        batches.loc[epoch_batches.index, "start_ns"], batches.loc[epoch_batches.index, "end_ns"] = (
            edges[:-1],
            edges[1:],
        )
