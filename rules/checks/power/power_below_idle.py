"""Less power under load than the board draws idle

## What it does
Compares every power reading in a scored epoch with the power below which no working board of that
kind is seen, idle or not.

## Why it is bad
The readings are in another unit (a slip by 1000 is the usual one), belong to another board, or were
scaled.

## What to do
Check the unit of the meter, and that it reads the board that worked.

## Source
Protocol, section "bounds"; idle powers in `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, of_each, offenders
from rules.finding import Severity, Violation
from rules.metrics.readings import POWER_READERS, are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    boards = {uuid: accelerator.board for uuid, accelerator in bundle.accelerators.items()}
    idle_w = {uuid: known.idle_power_w for uuid, known in boards.items() if known is not None}
    least_w = of_each(samples, idle_w)
    for column, read_w in POWER_READERS:
        power_w = read_w(samples)
        wrong = (power_w < least_w) & (power_w > 0) & ~are_sentinels(power_w)
        for uuid, where, count in offenders(samples, wrong):
            yield Violation(
                SAMPLES,
                where,
                f"{uuid}: {count} readings below idle in {column}, such as {power_w[wrong][0]:g} W",
                f"at least {idle_w[uuid]:g} W, which such a board draws idle",
                "These are not the powers of this board in milliwatts. Check the unit and "
                "the board that was read.",
            )
