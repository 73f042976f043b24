"""Losses of steps that are not finite, all the same, or not those of the epoch

## What it does
Looks at the losses of single steps, which bundles list in `losses` of each epoch (those of older
harnesses do not). Every one must be finite, those of an epoch with eight steps or more must not be
all the same, and the last must be the epoch's `loss`.

## Why it is bad
A loss that overflows in some steps and is back at the end of the epoch passes T105, and one that
moves between epochs alone passes T106. Steps on NaN can be faster than real ones, and a list of one
repeated number is no record of training.

## What to do
Lower the learning rate or fix the precision, and run again. Leave the losses as the recorder read
them.

## Source
Bundle format, result.json: `null` stands for a loss that is not finite.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "T113", Severity.ERROR, added="1.3.0")

ENOUGH_STEPS = 8


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or workload.mode != "training":
        return
    for place, epoch in enumerate(bundle.result["epochs"]):
        losses = epoch.get("losses", [])
        pointer = f"/epochs/{place}/losses"
        missing = losses.count(None)
        if missing:
            yield _found(
                pointer, f"{missing} of {len(losses)} not finite", "a finite loss of every step"
            )
        elif len(losses) >= ENOUGH_STEPS and losses.count(losses[0]) == len(losses):
            yield _found(
                pointer,
                f"{losses[0]} in all {len(losses)} steps",
                "a loss that changes from step to step",
            )
        if losses and losses[-1] != epoch["loss"]:
            yield _found(
                pointer, f"the last is {losses[-1]}", f"{epoch['loss']}, the loss of the epoch"
            )


def _found(pointer: str, found: str, expected: str) -> Violation:
    return Violation(
        RESULT,
        pointer,
        found,
        expected,
        "These are not the losses of a training. Fix the step, and run again.",
    )
