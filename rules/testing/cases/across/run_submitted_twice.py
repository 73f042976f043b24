"""Mutations that the rule `run-submitted-twice` must find.

Runs of one center whose batches are equal would also be repeats that are too equal (X109).
"""

from rules.checks.across.run_submitted_twice import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


@pairing(RULE, "X112", both_at_fault=True, other_center=True)
def batches_copied_under_another_run_id(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.batches = other_run.batches.copy()


@pairing(RULE, "X112", both_at_fault=True, other_center=True)
def batches_copied_and_shifted_in_time(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    run.batches = other_run.batches.copy()
    for column in ("start_ns", "end_ns"):
        run.batches[column] += 500_000
