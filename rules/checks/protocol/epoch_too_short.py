"""A scored epoch is too short

## What it does
Adds, per scored epoch and accelerator, the time in which a batch was active, and compares the sum
with the minimum length of a scored epoch (30 s; 10 s in a control run and with trainings to a
target).

## Why it is bad
Energy counters advance in steps, ten per second on the known boards. At the beginning and the end
of a short epoch these steps are a large share of its energy. They hardly matter in a control run,
whose power is constant. Its epochs need ten readings of a node meter with one reading per second.
The seeds of trainings to a target decide how long an epoch is.

## What to do
Run again with longer epochs: leave the epoch length to `bench-submit`, or increase
`--epoch-seconds`.

## Source
Protocol, section "scored epoch length".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P103", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    minimum_s = bundle.protocol.choose_min_epoch_s(
        bundle.standing == "control", bundle.target is not None
    )
    active_s: dict[int, float] = {}
    for part in bundle.scored_parts:
        # The accelerator with the least active time decides: its counter has the largest relative
        # error.
        active_s[part.epoch] = min(part.active_s, active_s.get(part.epoch, part.active_s))
    short_s = {epoch: length_s for epoch, length_s in active_s.items() if length_s < minimum_s}
    if short_s:
        yield Violation(
            BATCHES,
            "",
            f"epochs {', '.join(map(str, short_s))}, the shortest with "
            f"{min(short_s.values()):.2f} s of active time",
            f"at least {minimum_s:g} s in every scored epoch",
        )
