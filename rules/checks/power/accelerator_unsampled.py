"""An accelerator that worked without being sampled

## What it does
Asks that every accelerator of every rank has samples.

## Why it is bad
Its work would count, and its energy would not.

## What to do
Sample all accelerators of the run. The harness matches ranks and meters by UUID; check that the
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
    for place, rank in enumerate(bundle.result["ranks"]):
        for n, accelerator in enumerate(rank["accelerators"]):
            if accelerator not in bundle.samples_of:
                yield Violation(
                    RESULT,
                    f"/ranks/{place}/accelerators/{n}",
                    f"{accelerator} has no samples",
                    f"one of the sampled: {', '.join(list(bundle.samples_of)[:4])}",
                    "The power of this accelerator was not measured. Sample every "
                    "accelerator of the run.",
                )
