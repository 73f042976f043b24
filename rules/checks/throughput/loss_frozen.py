"""A loss that never changes

## What it does
Looks for training runs that state one and the same loss in all epochs.

## Why it is bad
The weights did not change, or the steps were not run: no optimiser step, a frozen model, a number
filled in.

## What to do
Train. The reference implementations show the whole step.

## Source
Workload definitions, mode "training": forward, backward and optimiser step.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "T106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    losses = [e["loss"] for e in bundle.result["epochs"] if e["loss"] is not None]
    if workload is None or workload.mode != "training" or len(losses) < 2:
        return
    if len(set(losses)) == 1:
        yield Violation(
            RESULT,
            "/epochs/0/loss",
            f"{losses[0]} in all {len(losses)} epochs",
            "a loss that changes while the model is trained",
            "Nothing was trained. Run the whole step: forward, backward and optimiser.",
        )
