"""Batch times of one epoch that are those of another

## What it does
Compares the durations of all batches, to the nanosecond, between epochs and ranks.

## Why it is bad
No two epochs take the same time in every batch. Equal ones were copied, so the run is shorter than
it says.

## What to do
Run all epochs and hand in what was recorded.

## Source
Protocol, section "epochs, discarded". Device events resolve about one microsecond, and steps vary
by far more.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P114", Severity.ERROR, waivable=False)

ENOUGH_BATCHES = 8  # fewer may agree by chance


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    durations_ns = bundle.batches.ints("end_ns") - bundle.batches.ints("start_ns")
    seen: dict[bytes, str] = {}
    for (epoch, rank), at in bundle.batches_of.items():
        if len(at) < ENOUGH_BATCHES:
            continue
        name = f"epoch {epoch} of rank {rank}"
        before = seen.setdefault(durations_ns[at].tobytes(), name)
        if before != name:
            yield Violation(
                BATCHES,
                "",
                f"{name}: {len(at)} batches with exactly the durations of {before}",
                "durations that differ between epochs and ranks",
                "Times were copied. Hand in what was recorded.",
            )
