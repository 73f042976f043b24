"""Epochs that overlap or run out of order

## What it does
Asks of a training run, per rank, that an epoch begins after the epoch of the number before has
ended.

## Why it is bad
Where two epochs lie over each other, the same time and the same energy are counted twice. Epochs
out of order were renumbered.

## What to do
Leave the table as the recorder wrote it, or run again. Requests of a serving run overlap rightly,
also at the edge of two epochs, and are not compared.

## Source
Protocol, sections "epochs, discarded" and "what counts".
"""

from collections.abc import Iterator
from itertools import pairwise

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "P111", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or workload.mode != "training":
        return
    for rank in sorted({r for _, r in bundle.spans}):
        spans = [(epoch, span) for (epoch, r), span in bundle.spans.items() if r == rank]
        for (before, (_, end_ns)), (epoch, (start_ns, _)) in pairwise(spans):
            if start_ns < end_ns:
                yield Violation(
                    BATCHES,
                    "",
                    f"rank {rank}: epoch {epoch} begins {(end_ns - start_ns) / 1e9:.3f} s "
                    f"before epoch {before} ends",
                    "epochs one after the other, in the order of their numbers",
                    "Time and energy would count twice, or epochs were renumbered. Leave "
                    "the table as it was written.",
                )
