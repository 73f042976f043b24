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
from rules.bundle_format.table import POWER_COLUMNS, SAMPLES, implausible, of_each, offenders
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    boards = {uuid: accelerator.board for uuid, accelerator in bundle.accelerators.items()}
    idle_w = {uuid: known.idle_power_w for uuid, known in boards.items() if known is not None}
    least_mw = 1e3 * of_each(samples, idle_w)
    for column in POWER_COLUMNS:
        power = samples.floats(column)
        wrong = (power < least_mw) & (power > 0) & ~implausible(power)
        for uuid, where, count in offenders(samples, wrong):
            yield Violation(
                SAMPLES,
                where,
                f"{uuid}: {count} readings below idle in {column}, such as "
                f"{power[wrong][0] / 1e3:g} W",
                f"at least {idle_w[uuid]:g} W, which such a board draws idle",
                "These are not the powers of this board in milliwatts. Check the unit and "
                "the board that was read.",
            )
