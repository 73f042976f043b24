"""A declared rank has no batches

## What it does
Checks that every rank of result.json has batches in every epoch of the run. P109 checks the number
of batches.

## Why it is bad
The accelerators of a declared rank count as accelerators of the run. If the rank did not work, the
system was smaller than stated. If its batch windows were omitted, the energy of its boards is
missing.

## What to do
Find out why the rank left no batches, and run again. Declare only ranks that work.

## Source
Protocol, section "what counts"; bundle format, result.json, `ranks`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P119", Severity.ERROR, added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Compare with the epochs of the other ranks. P101 reports epochs that no rank has.
    epochs = {epoch for epoch, _ in bundle.spans}
    for rank in bundle.ranks:
        silent = sorted(epoch for epoch in epochs if (epoch, rank.rank) not in bundle.spans)
        if silent:
            yield Violation(
                BATCHES,
                "",
                f"rank {rank.rank} on {rank.node} has no batches in epochs "
                f"{', '.join(map(str, silent[:12]))}",
                "batches of every declared rank in every epoch",
            )
