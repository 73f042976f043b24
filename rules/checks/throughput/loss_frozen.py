"""The loss never changes

## What it does
Looks for training runs that state the same loss in all epochs.

## Why it is bad
The weights did not change, or the steps did not run: there is no optimiser step, the model is
frozen, or a number was filled in.

## What to do
Run the whole training step: forward, backward and optimiser. The reference implementations show it.

## Source
Workload definitions, mode "training": forward, backward and optimiser step.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    losses = [epoch.loss for epoch in bundle.stated_epochs if epoch.loss is not None]
    # Inference has no loss, and T105 reports missing losses.
    if bundle.is_training and len(losses) > 1 and len(set(losses)) == 1:
        yield Violation(
            RESULT,
            "/epochs/0/loss",
            f"{losses[0]} in all {len(losses)} epochs",
            "a loss that changes during training",
        )
