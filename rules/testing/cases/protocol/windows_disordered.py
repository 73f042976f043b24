"""Mutations that the rule `windows-disordered` must find."""

from rules.checks.protocol.windows_disordered import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def batches_overlap(evidence: EvidenceFrames) -> None:
    later = evidence.batches["batch"] > 0
    evidence.batches.loc[later, "start_ns"] -= 1_000_000


@mutation(RULE)
def batch_ends_before_it_begins(evidence: EvidenceFrames) -> None:
    row = evidence.batches.index[evidence.batches["batch"] == 3][0]
    evidence.batches.loc[row, "end_ns"] = evidence.batches.loc[row, "start_ns"] - 1000


@mutation(RULE)
def two_batches_swapped(evidence: EvidenceFrames) -> None:
    row = evidence.batches.index[evidence.batches["batch"] == 1][0]
    times = ["start_ns", "end_ns"]
    evidence.batches.loc[[row, row + 1], times] = evidence.batches.loc[
        [row + 1, row], times
    ].to_numpy()
