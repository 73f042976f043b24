"""Batch durations of one epoch equal those of another

## What it does
Compares the durations of all batches, to the nanosecond, between epochs and ranks. Epochs with
fewer than eight batches are skipped.

## Why it is bad
No two epochs take the same time in every batch. Equal durations were copied, so the run was shorter
than stated.

## What to do
Run all epochs and submit the recorded times.

## Source
Protocol, section "epochs, discarded". Device events have a resolution of about one microsecond, and
the durations of steps vary by much more.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P114", Severity.ERROR, waivable=False)

MIN_BATCHES = 8
"""Fewer batches may have equal durations by chance."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    durations_ns = bundle.batches.ints("end_ns") - bundle.batches.ints("start_ns")
    first_owners: dict[bytes, str] = {}
    for (epoch, rank), rows in bundle.batches_of.items():
        # The smoke epochs of a demo have only a few batches.
        if len(rows) < MIN_BATCHES:
            continue
        owner = f"epoch {epoch} of rank {rank}"
        # Durations instead of times, so that a copy that was shifted in time is found too.
        first_owner = first_owners.setdefault(durations_ns[rows].tobytes(), owner)
        if first_owner != owner:
            yield Violation(
                BATCHES,
                "",
                f"{owner}: {len(rows)} batches with exactly the durations of {first_owner}",
                "durations that differ between epochs and ranks",
            )
