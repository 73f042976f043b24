"""The figures cannot be computed from the evidence

## What it does
Recomputes all figures from samples and batches, and reports the reason if that is not possible.

## Why it is bad
A figure that cannot be recomputed has no evidence.

## What to do
Read the reason. Most often another finding names the cause: batches of an unknown rank, or samples
that are out of order or missing. Remove the cause and run again.

## Source
Protocol, sections "what counts" and "energy of record".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T101", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None:
        yield Violation(
            RESULT,
            "/headline",
            bundle.figures_error,
            "samples and batches from which every figure can be computed",
        )
