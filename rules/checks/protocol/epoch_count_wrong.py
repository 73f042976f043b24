"""A run with more or fewer epochs than the protocol asks for

## What it does
Compares the epochs in batches.csv.gz and in result.json with the number that the protocol fixes.

## Why it is bad
Means and intervals are compared between runs of equal length. A run that may leave epochs out, or
add some, can choose its best ones.

## What to do
Run again. A run that ended early is not a result; `bench-submit` repeats it whole.

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
    wanted = list(range(bundle.protocol.epochs))
    stated = [e["epoch"] for e in bundle.result["epochs"]]
    measured = sorted({epoch for epoch, _ in bundle.batches_of})
    for file, pointer, epochs in ((RESULT, "/epochs", stated), (BATCHES, "", measured)):
        if epochs != wanted:
            yield Violation(
                file,
                pointer,
                f"{len(epochs)} epochs: {', '.join(map(str, epochs[:20]))}",
                f"epochs 0 to {wanted[-1]}, each once and in order",
                "A run has a fixed number of epochs, so that none can be chosen or left "
                "out. Run again.",
            )
