"""Mutations that the rule `requests-contradict-batches` must find."""

from rules.checks.protocol.requests_contradict_batches import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch


@mutation(RULE, serving=True)
def request_left_out(evidence: EvidenceFrames) -> None:
    assert evidence.requests is not None
    evidence.requests = evidence.requests.drop(index=5).reset_index(drop=True)


@mutation(RULE, serving=True)
def answer_sooner_than_its_batch(evidence: EvidenceFrames) -> None:
    assert evidence.requests is not None
    last_requests = evidence.requests["end_ns"] == evidence.requests["end_ns"].max()
    evidence.requests.loc[last_requests, "end_ns"] -= 1_000


@mutation(RULE, serving=True)
def window_begins_later(evidence: EvidenceFrames) -> None:
    last_windows = evidence.batches["epoch"] == get_last_epoch(evidence)
    evidence.batches.loc[last_windows, "start_ns"] += 1_000
