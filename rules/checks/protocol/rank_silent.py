"""A declared rank that has no batches

## What it does
Asks that every rank of result.json has batches in every epoch of the run. How many they must be is
P109's.

## Why it is bad
A rank that is declared counts its accelerators among those of the run. If it did not work, the
system was smaller than stated; if its windows were left out, so was the energy that its boards drew
meanwhile.

## What to do
Find out why the rank left no batches.csv, and run again. Declare only ranks that work.

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
    epochs = {epoch for epoch, _ in bundle.spans}
    for declared in bundle.result["ranks"]:
        rank = declared["rank"]
        silent = sorted(epoch for epoch in epochs if (epoch, rank) not in bundle.spans)
        if silent:
            yield Violation(
                BATCHES,
                "",
                f"rank {rank} on {declared['node']} has no batches in epochs "
                f"{', '.join(map(str, silent[:12]))}",
                "batches of every declared rank in every epoch",
                "The rank did not work, or its windows were left out. Find out which, and "
                "run again.",
            )
