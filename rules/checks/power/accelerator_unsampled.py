"""An accelerator of the run was not sampled

## What it does
Checks that every accelerator of every rank has samples.

## Why it is bad
The work of the accelerator would count, but not its energy.

## What to do
Sample every accelerator of the run. The harness assigns meters to ranks by UUID: check that the
meter sees the same boards as the workers.

## Source
Protocol, sections "sampling" and "scope".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W102", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for rank in bundle.ranks:
        for i, accelerator in enumerate(rank.accelerators):
            if accelerator not in bundle.samples_of:
                yield Violation(
                    RESULT,
                    f"{rank.pointer}/accelerators/{i}",
                    f"{accelerator} has no samples",
                    f"a sampled accelerator: {', '.join(list(bundle.samples_of)[:4])}",
                )
