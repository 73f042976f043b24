"""Epochs overlap or are out of order

## What it does
Checks for training runs, per rank, that each epoch begins after the previous epoch has ended.

## Why it is bad
If two epochs overlap, the same time and the same energy count twice. Epochs out of order were
renumbered.

## What to do
Submit the table as the recorder wrote it, or run again. Requests of a serving run may overlap, also
between two epochs, so serving runs are not judged.

## Source
Protocol, sections "epochs, discarded" and "what counts".
"""

from collections.abc import Iterator
from itertools import pairwise

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P111", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # The requests of a server that are in flight when an epoch ends belong to the next epoch.
    if not bundle.runs_batches_in_turn:
        return
    # Ranks on different nodes have unrelated monotonic clocks, so each rank is compared with
    # itself.
    for rank in sorted({rank for _, rank in bundle.spans}):
        spans = [(epoch, span) for (epoch, owner), span in bundle.spans.items() if owner == rank]
        for (previous, (_, end_ns)), (epoch, (start_ns, _)) in pairwise(spans):
            if start_ns < end_ns:
                overlap_s = (end_ns - start_ns) / 1e9
                yield Violation(
                    BATCHES,
                    "",
                    f"rank {rank}: epoch {epoch} begins {overlap_s:.3f} s before epoch "
                    f"{previous} ends",
                    "epochs one after the other, in the order of their numbers",
                )
