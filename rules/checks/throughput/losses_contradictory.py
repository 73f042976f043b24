"""Losses of steps are not finite, constant, or contradict the epoch

## What it does
Checks the losses of single steps, which bundles list in `losses` of each epoch (bundles of older
harnesses do not). Every loss must be finite, the losses of an epoch with eight steps or more must
not all be equal, and the last loss must be the `loss` of the epoch.

## Why it is bad
A loss that overflows in some steps and recovers until the end of the epoch passes T105, and a loss
that changes only between epochs passes T106. Steps on NaN can be faster than real ones, and a list
of one repeated number is no record of training.

## What to do
Lower the learning rate or correct the precision, and run again. Submit the losses as the recorder
read them.

## Source
Bundle format, result.json: `null` stands for a loss that is not finite.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T113", Severity.ERROR, added="1.3.0")

MIN_STEPS = 8
"""Fewer steps may have equal losses by chance."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if not bundle.is_training:
        return
    for epoch in bundle.stated_epochs:
        # Older harnesses recorded one loss per epoch, which T105 and T106 judge.
        losses, pointer = epoch.losses or [], f"{epoch.pointer}/losses"
        missing = losses.count(None)
        if missing:
            observed = f"{missing} of {len(losses)} not finite"
            yield Violation(RESULT, pointer, observed, "a finite loss of every step")
        elif len(losses) >= MIN_STEPS and losses.count(losses[0]) == len(losses):
            observed = f"{losses[0]} in all {len(losses)} steps"
            yield Violation(RESULT, pointer, observed, "a loss that changes from step to step")
        # The harness states the last loss as the loss of the epoch, so they are equal to the last
        # digit.
        if losses and losses[-1] != epoch.loss:
            observed = f"the last is {losses[-1]}"
            yield Violation(RESULT, pointer, observed, f"{epoch.loss}, the loss of the epoch")
