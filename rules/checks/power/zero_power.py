"""Power is zero under load

## What it does
Looks in the scored samples for power readings of exactly 0.

## Why it is bad
A working board draws power. A zero is a failed read that was not recorded as such, and each zero
lowers the energy.

## What to do
Record a failed read as an empty cell with the reason in `status`.

## Source
Protocol, section "bounds": power lies above idle.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, find_offenders
from rules.finding import Severity, Violation
from rules.metrics.power.readings import POWER_READERS
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W105", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    # On boards with averaged power only, the energy is the integral of that column.
    for column, read_w in POWER_READERS:
        for accelerator, where, count in find_offenders(samples, read_w(samples) == 0):
            yield Violation(
                SAMPLES,
                where,
                f"{accelerator}: {count} readings of 0 mW in {column} while a batch was active",
                "the power of the board, or an empty cell and a status",
            )
