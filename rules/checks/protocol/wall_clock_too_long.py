"""The run took hours longer than its epochs

## What it does
Compares the time between `started_at` and `ended_at` with the time from the first batch to the last
batch. It may be one hour longer, for building, compiling, loading weights and warming up.

## Why it is bad
The eleven epochs of a run follow each other. Dates with room for many runs may belong to a series
of which the best run was kept, or to another run. It is a warning, because loading can be slow.

## What to do
Submit both dates as `bench-submit` wrote them. If a build really takes that long, tell the
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

TOLERANCE_S = 3600.0
"""Time for building, compiling, loading weights and warming up; measured runs took at most four
minutes."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    run = bundle.declaration
    try:
        started_at, ended_at = (
            datetime.fromisoformat(date) for date in (run.started_at, run.ended_at)
        )
    except ValueError:
        return  # P113 reports it
    # Each rank on its own, because the monotonic clocks of nodes are unrelated.
    times_ns: dict[int, list[int]] = {}
    for (_, rank), span in bundle.spans.items():
        times_ns.setdefault(rank, []).extend(span)
    batches_s = max(((max(ns) - min(ns)) / 1e9 for ns in times_ns.values()), default=0.0)
    wall_s = (ended_at - started_at).total_seconds()
    # The dates cover building and warm-up, which no batch window shows.
    if wall_s > batches_s + TOLERANCE_S:
        yield Violation(
            RESULT,
            "/ended_at",
            f"{wall_s / 3600:.1f} h after started_at",
            f"at most one hour more than the {batches_s / 60:.0f} min from the first batch to "
            "the last batch",
        )
