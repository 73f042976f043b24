"""Mutations that the rule `batches-leave-gaps` must find."""

from rules.checks.throughput.batches_leave_gaps import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch, shorten_batches


@mutation(RULE)
def windows_shaved_by_two_percent(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.98)


@mutation(RULE)
def windows_of_the_last_epoch_shaved_by_one_percent(evidence: EvidenceFrames) -> None:
    shorten_batches(evidence, 0.99, get_last_epoch(evidence))


@mutation(RULE)
def epochs_two_percent_shorter(evidence: EvidenceFrames) -> None:
    """The batches, compressed towards the start of their epoch, leave work between the epochs."""
    batches = evidence.batches
    begin_ns = batches.groupby(["epoch", "rank"])["start_ns"].transform("min")
    for column in ("start_ns", "end_ns"):
        batches[column] = begin_ns + ((batches[column] - begin_ns) * 0.98).astype("int64")
