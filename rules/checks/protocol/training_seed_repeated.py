"""The seed of a training is no new one of the run

## What it does
Looks for seeds that several trainings of result.json state, also those of the discarded epoch, and
for seeds that do not follow from the seed of the run.

## Why it is bad
The interval of the energy to a target shows how much it varies between seeds. A favourable seed
that is used twice, in one run or in two, narrows the interval and lowers the mean.

## What to do
Give each training a seed of its own (`Job.make_training_seed`), and run again.

## Source
None: a convention of this rule book.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.contract import TRAININGS_OF_A_SEED
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P130", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.target is None:
        return
    first_owners: dict[int, str] = {}
    for epoch in bundle.stated_epochs:
        for training in epoch.trainings or ():
            owner = first_owners.setdefault(training.seed, training.pointer)
            if owner != training.pointer:
                yield Violation(
                    RESULT,
                    f"{training.pointer}/seed",
                    f"{training.seed}, the seed of {owner}",
                    "a seed that no other training has",
                )
            elif training.seed // TRAININGS_OF_A_SEED != bundle.settings.seed:
                yield Violation(
                    RESULT,
                    f"{training.pointer}/seed",
                    f"{training.seed}",
                    f"{TRAININGS_OF_A_SEED} times {bundle.settings.seed}, the seed of the run, and "
                    "less than that many more",
                )
