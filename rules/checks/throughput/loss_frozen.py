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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.workloads import workloads

RULE = Rule("T106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    workload = workloads().get(bundle.result["workload"])
    losses = [e["loss"] for e in bundle.result["epochs"] if e["loss"] is not None]
    if workload is None or workload.mode != "training" or len(losses) < 2:
        return
    if len(set(losses)) == 1:
        yield Found(
            RESULT,
            "/epochs/0/loss",
            f"{losses[0]} in all {len(losses)} epochs",
            "a loss that changes while the model is trained",
            "Nothing was trained. Run the whole step: forward, backward and optimiser.",
        )


@RULE.mutation()
def same_loss_everywhere(evidence: Evidence) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = 6.907755


@RULE.mutation()
def loss_zero_everywhere(evidence: Evidence) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["loss"] = 0.0
