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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.workloads import workloads

RULE = Rule("T105", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None or workload.mode != "training":
        return
    missing = [
        place for place, epoch in enumerate(bundle.result["epochs"]) if epoch["loss"] is None
    ]
    if missing:
        yield Found(
            RESULT,
            f"/epochs/{missing[0]}/loss",
            f"null, in {len(missing)} of {len(bundle.result['epochs'])} epochs",
            "a finite loss in every epoch",
            "Whether anything was trained cannot be told. Record the loss; if it "
            "overflowed, fix the training.",
        )


@RULE.mutation()
def no_loss_at_all(evidence: Evidence) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = None


@RULE.mutation()
def loss_overflows_late(evidence: Evidence) -> None:
    evidence.result["epochs"][-1]["loss"] = None
