"""A training run without a loss

## What it does
Checks that every epoch of a training run states a finite loss.

## Why it is bad
Without a loss nobody can tell whether a model was trained. A loss that overflowed is no training
either, and arithmetic on NaN can be faster.

## What to do
Return the loss of the step to the recorder. If it overflowed, lower the learning rate or correct
the precision.

## Source
Bundle format, result.json: `null` stands for a loss that is missing or not finite.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T105", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if not bundle.is_training:
        return
    # JSON has no NaN, so the harness writes null for a loss that is not finite.
    missing = [epoch for epoch in bundle.stated_epochs if epoch.loss is None]
    if missing:
        yield Violation(
            RESULT,
            f"{missing[0].pointer}/loss",
            f"null, in {len(missing)} of {len(bundle.stated_epochs)} epochs",
            "a finite loss in every epoch",
        )
