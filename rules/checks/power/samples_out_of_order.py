"""Samples are out of order or duplicated

## What it does
Checks that `read_ns` increases from row to row of each accelerator.

## Why it is bad
A sampler writes its readings in the order of time. A table in another order was assembled from
parts, and energy cannot be integrated over it.

## What to do
Submit samples.csv.gz as the sampler wrote it.

## Source
Bundle format, samples.csv.gz.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.samples_of.items():
        # Equal times count as well: a duplicated row has zero duration. The prepended -1 keeps the
        # shape.
        backwards = np.diff(samples.ints("read_ns"), prepend=-1) <= 0
        if backwards.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, backwards),
                f"{accelerator}: {format_count(backwards.sum(), 'sample')} "
                f"not later than the one before",
                "read_ns that increases from row to row",
            )
