"""Mutations that the rule `run-submitted-twice` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.across.run_submitted_twice import RULE
from rules.testing.case import pairing


@pairing(RULE, "X109", both=True)
def batches_copied_under_another_run_id(run: Evidence, other: Evidence) -> None:
    run.batches = other.batches.copy()


@pairing(RULE, "X109", both=True)
def batches_copied_and_shifted_in_time(run: Evidence, other: Evidence) -> None:
    run.batches = other.batches.copy()
    for column in ("start_ns", "end_ns"):
        run.batches[column] += 500_000
