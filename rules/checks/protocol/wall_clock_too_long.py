"""A run that took hours longer than its epochs

## What it does
Compares the time between `started_at` and `ended_at` with that from the first batch to the last. It
may be one hour longer: for building, compiling, loading weights and warming up.

## Why it is bad
The eleven epochs of a run follow each other. Dates that leave room for many runs may be those of a
series of which the best was kept, or of another run. It is a warning, because loading can be slow.

## What to do
Leave both dates as `bench-submit` writes them. Where a build really takes that long, say so to the
reviewer.

## Source
Bundle format, result.json. The longest of the measured runs took nearly four minutes more than its
epochs.
"""

from collections.abc import Iterator
from datetime import datetime

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P124", Severity.WARNING, added="1.3.0")

BEYOND_S = 3600.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    try:
        started, ended = (
            datetime.fromisoformat(bundle.result[name]) for name in ("started_at", "ended_at")
        )
    except ValueError:
        return  # P113 says it
    by_rank: dict[
        int, list[int]
    ] = {}  # nodes have clocks of their own, so each rank is asked alone
    for (_, rank), span in bundle.spans.items():
        by_rank.setdefault(rank, []).extend(span)
    batches_s = max(((max(edges) - min(edges)) / 1e9 for edges in by_rank.values()), default=0.0)
    wall_s = (ended - started).total_seconds()
    if wall_s > batches_s + BEYOND_S:
        found = f"{wall_s / 3600:.1f} h after started_at"
        expected = (
            f"within an hour more than the {batches_s / 60:.0f} min from the first batch to "
            "the last"
        )
        message = (
            "The dates have room for many runs. Leave them as they were written, or say what "
            "took so long."
        )
        yield Violation(RESULT, "/ended_at", found, expected, message)
