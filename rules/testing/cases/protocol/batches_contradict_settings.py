"""Mutations that the rule `batches-contradict-settings` must find."""

import numpy as np

from rules.checks.protocol.batches_contradict_settings import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin


@mutation(RULE)
def larger_batches_than_declared(evidence: EvidenceFrames) -> None:
    evidence.batches["items"] += 8


@mutation(RULE)
def one_batch_left_out(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches.drop(index=10).reset_index(drop=True)


@mutation(RULE)
def another_batch_count_declared(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["batches_per_epoch"] += 5


@mutation(RULE, "T101", "P119")
def batches_of_an_undeclared_rank(evidence: EvidenceFrames) -> None:
    evidence.batches.loc[
        evidence.batches["rank"] == evidence.result["ranks"][0]["rank"], "rank"
    ] = 77


@mutation(RULE)
def batch_number_twice(evidence: EvidenceFrames) -> None:
    evidence.batches.loc[evidence.batches["batch"] == 5, "batch"] = 4


@mutation(RULE)
def one_batch_larger(evidence: EvidenceFrames) -> None:
    evidence.batches.loc[evidence.batches.index == 37, "items"] *= 2


@mutation(RULE, "P119")
def one_rank_without_batches(evidence: EvidenceFrames) -> None:
    silent = add_twin(evidence)
    evidence.batches = evidence.batches[evidence.batches["rank"] != silent].reset_index(drop=True)


@mutation(RULE, may_report=("T109", "T122"))
def slow_batches_dropped_in_every_epoch(evidence: EvidenceFrames) -> None:
    batches = evidence.batches
    length_ns = batches["end_ns"].to_numpy() - batches["start_ns"].to_numpy()
    mask = np.ones(len(batches), dtype=bool)
    for key in np.unique(batches[["epoch", "rank"]].to_numpy(np.int64), axis=0):
        rows = np.flatnonzero(
            (batches["epoch"].to_numpy() == key[0]) & (batches["rank"].to_numpy() == key[1])
        )
        mask[rows[np.argmax(length_ns[rows])]] = False
    evidence.batches = batches[mask].reset_index(drop=True)


@mutation(RULE, serving=True)
def request_count_short(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["batches_per_epoch"] *= 2
