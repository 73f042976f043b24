"""Mutations that the rule `windows-disordered` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.protocol.windows_disordered import RULE
from rules.testing.case import mutation


@mutation(RULE)
def batches_overlap(evidence: Evidence) -> None:
    later = evidence.batches["batch"] > 0
    evidence.batches.loc[later, "start_ns"] -= 1_000_000


@mutation(RULE)
def batch_ends_before_it_begins(evidence: Evidence) -> None:
    row = evidence.batches.index[evidence.batches["batch"] == 3][0]
    evidence.batches.loc[row, "end_ns"] = evidence.batches.loc[row, "start_ns"] - 1000


@mutation(RULE)
def two_batches_swapped(evidence: Evidence) -> None:
    first = evidence.batches.index[evidence.batches["batch"] == 1][0]
    times = ["start_ns", "end_ns"]
    evidence.batches.loc[[first, first + 1], times] = evidence.batches.loc[
        [first + 1, first], times
    ].to_numpy()
