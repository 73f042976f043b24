"""A training ends below its target

## What it does
Compares the accuracy of each training of result.json with the target of the workload.

## Why it is bad
Energy and time to the target are those of trainings that reach it. One that ends earlier takes
less of both.

## What to do
Train until an evaluation reaches the target, and run again.

## Source
Workload definitions, `target` in `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.target import MAX_ROUNDING
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P128", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.target is None:
        return
    for epoch in bundle.stated_epochs:
        for training in epoch.trainings or ():
            if training.accuracy < bundle.target.accuracy - MAX_ROUNDING:
                yield Violation(
                    RESULT,
                    f"{training.pointer}/accuracy",
                    f"{training.accuracy:g}",
                    f"at least {bundle.target.accuracy:g}, the target of the workload",
                )
