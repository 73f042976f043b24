"""Mutations that the rule `epoch-too-short` must find."""

from rules.checks.protocol.epoch_too_short import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_protocol


def count_batches_below_minimum(evidence: EvidenceFrames) -> int:
    length_s = (
        evidence.batches["end_ns"].to_numpy() - evidence.batches["start_ns"].to_numpy()
    ).mean() / 1e9
    return max(1, int(0.95 * get_protocol(evidence).min_epoch_s / length_s))


@mutation(RULE, "T122")
def last_batches_left_out(evidence: EvidenceFrames) -> None:
    batch_count = count_batches_below_minimum(evidence)
    evidence.batches = evidence.batches[evidence.batches["batch"] < batch_count].reset_index(
        drop=True
    )
    evidence.result["settings"]["batches_per_epoch"] = batch_count


@mutation(RULE, "T122")
def first_batches_left_out(evidence: EvidenceFrames) -> None:
    batch_count = count_batches_below_minimum(evidence)
    offset = evidence.result["settings"]["batches_per_epoch"] - batch_count
    evidence.batches = evidence.batches[evidence.batches["batch"] >= offset].reset_index(drop=True)
    evidence.batches["batch"] -= offset
    evidence.result["settings"]["batches_per_epoch"] = batch_count
