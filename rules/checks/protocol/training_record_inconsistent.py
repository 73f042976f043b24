"""The record of a training is missing or cannot be

## What it does
Checks `trainings` of each epoch in result.json, for workloads with a target:

- every rank has one for each of its batches;
- its steps are a multiple of the steps between two evaluations, and not more than the workload
  allows;
- its accuracy is that of a whole number of held-out samples.

## Why it is bad
The record says what the energy was spent for. A training without steps and accuracy need not have
reached the target, and other numbers come from no evaluation of the workload.

## What to do
Pass each training to the recorder, evaluate as the workload defines, and run again.

## Source
Workload definitions, `target` in `rules/workloads/`.
"""

from collections import Counter
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.declarations.run import StatedTraining
from rules.finding import Severity, Violation
from rules.metrics.target import MAX_ROUNDING
from rules.rule import BundleRule
from rules.workloads import Target

RULE = BundleRule(__name__, "P131", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.target is None:
        return
    batches = bundle.settings.batches_per_epoch
    expected = Counter({rank.rank: batches for rank in bundle.ranks})
    for epoch in bundle.stated_epochs:
        trainings = epoch.trainings or ()
        counts = Counter(training.rank for training in trainings)
        if counts != expected:
            others = [rank for rank in {*expected, *counts} if counts[rank] != expected[rank]]
            found = ", ".join(f"{counts[rank]} of rank {rank}" for rank in sorted(others)[:4])
            yield Violation(RESULT, f"{epoch.pointer}/trainings", found, f"{batches} of each rank")
        for training in trainings:
            yield from _check_training(training, bundle.target)


def _check_training(training: StatedTraining, target: Target) -> Iterator[Violation]:
    if training.steps % target.steps_between or training.steps > target.max_steps:
        yield Violation(
            RESULT,
            f"{training.pointer}/steps",
            str(training.steps),
            f"a multiple of {target.steps_between}, at most {target.max_steps}",
        )
    correct = training.accuracy * target.held_out
    if abs(correct - round(correct)) > MAX_ROUNDING * target.held_out:
        yield Violation(
            RESULT,
            f"{training.pointer}/accuracy",
            f"{training.accuracy:g}",
            f"a whole number of {target.held_out} held-out samples",
        )
