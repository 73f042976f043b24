"""The number of epochs differs from the protocol

## What it does
Compares the epochs in batches.csv.gz and in result.json with the number of epochs in the protocol.

## Why it is bad
Means and intervals are compared between runs with equal numbers of epochs. A run that may omit or
add epochs can select its best ones.

## What to do
Run again. A run that ended early is not a result, and `bench-submit` repeats it as a whole.

## Source
Protocol, section "epochs, discarded".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    required = list(range(bundle.protocol.epochs))
    stated = [epoch.epoch for epoch in bundle.stated_epochs]
    measured = sorted({epoch for epoch, _ in bundle.batches_of})
    # Both files count, because a slow epoch may have been removed from one of them only.
    for file, pointer, epochs in ((RESULT, "/epochs", stated), (BATCHES, "", measured)):
        if epochs != required:
            yield Violation(
                file,
                pointer,
                f"{len(epochs)} epochs: {', '.join(map(str, epochs[:20]))}",
                f"epochs 0 to {required[-1]}, each once and in order",
            )
