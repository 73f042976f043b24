"""Mutations that the rule `epoch-too-short` must find."""

from rules.checks.protocol.epoch_too_short import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_protocol


def _batches_in_less_than_an_epoch(evidence: EvidenceFrames) -> int:
    length_s = (
        evidence.batches["end_ns"].to_numpy() - evidence.batches["start_ns"].to_numpy()
    ).mean() / 1e9
    return max(1, int(0.95 * get_protocol(evidence).min_epoch_s / length_s))


@mutation(RULE)
def last_batches_left_out(evidence: EvidenceFrames) -> None:
    kept = _batches_in_less_than_an_epoch(evidence)
    evidence.batches = evidence.batches[evidence.batches["batch"] < kept].reset_index(drop=True)
    evidence.result["settings"]["batches_per_epoch"] = kept


@mutation(RULE)
def first_batches_left_out(evidence: EvidenceFrames) -> None:
    kept = _batches_in_less_than_an_epoch(evidence)
    left_out = evidence.result["settings"]["batches_per_epoch"] - kept
    evidence.batches = evidence.batches[evidence.batches["batch"] >= left_out].reset_index(
        drop=True
    )
    evidence.batches["batch"] -= left_out
    evidence.result["settings"]["batches_per_epoch"] = kept
