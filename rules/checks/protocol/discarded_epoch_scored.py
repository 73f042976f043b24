"""An epoch scored that must be discarded, or discarded that must be scored

## What it does
Compares the flag `scored` of every epoch in result.json with the protocol: the first epochs are
discarded, all others are scored.

## Why it is bad
The first epoch warms up caches, clocks and the board. Which epochs count is fixed beforehand, so
that a slow one cannot be declared a warm-up afterwards.

## What to do
Leave the flags as `bench-submit` writes them.

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
    for place, epoch in enumerate(bundle.result["epochs"]):
        scored = epoch["epoch"] >= bundle.protocol.discarded_epochs
        if epoch["scored"] != scored:
            yield Violation(
                RESULT,
                f"/epochs/{place}/scored",
                str(epoch["scored"]).lower(),
                str(scored).lower(),
                "Which epochs count is fixed by the protocol. Leave the flag as it was written.",
            )
