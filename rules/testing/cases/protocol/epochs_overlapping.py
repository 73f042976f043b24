"""Mutations that the rule `epochs-overlapping` must find."""

import numpy as np

from rules.checks.protocol.epochs_overlapping import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch


@mutation(RULE)
def epoch_reaches_into_the_next(evidence: EvidenceFrames) -> None:
    batches = evidence.batches
    rank_rows = batches["rank"] == evidence.result["ranks"][0]["rank"]
    next_start_ns = batches.loc[rank_rows & (batches["epoch"] == 4), "start_ns"].min()
    last_row = batches.index[rank_rows & (batches["epoch"] == 3)][-1]
    batches.loc[last_row, "end_ns"] = next_start_ns + 1_000_000


@mutation(RULE)
def two_epochs_renumbered(evidence: EvidenceFrames) -> None:
    epoch = evidence.batches["epoch"].to_numpy()
    last_epoch = get_last_epoch(evidence)
    evidence.batches["epoch"] = np.where(
        epoch == last_epoch, last_epoch - 3, np.where(epoch == last_epoch - 3, last_epoch, epoch)
    )
