"""Training without a loss

## What it does
Asks that every epoch of a training run states a finite loss.

## Why it is bad
Without a loss nobody can tell whether anything was trained. A loss that overflowed is no training
either; arithmetic on NaN can also be faster.

## What to do
Return the loss of the step to the recorder. If it overflowed, lower the learning rate or fix the
precision.

## Source
Bundle format, result.json: `null` stands for a loss that is missing or not finite.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "T105", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or workload.mode != "training":
        return
    missing = [
        place for place, epoch in enumerate(bundle.result["epochs"]) if epoch["loss"] is None
    ]
    if missing:
        yield Violation(
            RESULT,
            f"/epochs/{missing[0]}/loss",
            f"null, in {len(missing)} of {len(bundle.result['epochs'])} epochs",
            "a finite loss in every epoch",
            "Whether anything was trained cannot be told. Record the loss; if it "
            "overflowed, fix the training.",
        )
