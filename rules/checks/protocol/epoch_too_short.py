"""A scored epoch shorter than the protocol asks for

## What it does
Adds up, per scored epoch and accelerator, the time in which a batch was active, and compares it
with the least length of a scored epoch.

## Why it is bad
Energy counters advance in steps, ten a second on the boards we know. At the two edges of a short
epoch these steps are a large share of its energy.

## What to do
Run with longer epochs: leave the epoch length to `bench-submit`, or give a larger
`--epoch-seconds`.

## Source
Protocol, section "scored epoch length".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P103", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    least = bundle.protocol.min_epoch_s
    shortest: dict[int, float] = {}
    for part in bundle.scored_parts:
        shortest[part.epoch] = min(part.active_s, shortest.get(part.epoch, part.active_s))
    short = {epoch: seconds for epoch, seconds in shortest.items() if seconds < least}
    if short:
        yield Violation(
            BATCHES,
            "",
            f"epochs {', '.join(map(str, short))} with {min(short.values()):.2f} s of "
            "active time at the least",
            f"at least {least:g} s in every scored epoch",
            "Short epochs make the edges of the energy counter count too much. Run again "
            "with longer epochs.",
        )
