"""A discarded epoch is scored, or a scored epoch is discarded

## What it does
Compares the flag `scored` of every epoch in result.json with the protocol: the first epochs are
discarded, all others are scored.

## Why it is bad
The first epoch warms up caches, clocks and the board. The protocol fixes the scored epochs
beforehand, so that nobody can discard a slow epoch afterwards.

## What to do
Submit the flags as `bench-submit` wrote them.

## Source
Protocol, section "epochs, discarded".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P102", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for stated in bundle.stated_epochs:
        # The number of the epoch decides, not its place in the list, which P101 compares.
        scored = stated.epoch >= bundle.protocol.discarded_epochs
        if stated.scored != scored:
            yield Violation(
                RESULT,
                f"{stated.pointer}/scored",
                str(stated.scored).lower(),
                str(scored).lower(),
            )
