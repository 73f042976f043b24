"""Samples that run backwards or come twice

## What it does
Asks that `read_ns` rises from row to row of each accelerator.

## Why it is bad
A sampler writes what it reads in the order of time. Where the order is broken the table was put
together from pieces, and no energy can be integrated over it.

## What to do
Leave samples.csv.gz as the sampler wrote it.

## Source
Bundle format, samples.csv.gz.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.samples_of.items():
        back = np.diff(samples.ints("read_ns"), prepend=-1) <= 0
        if back.any():
            yield Violation(
                SAMPLES,
                rows(samples, back),
                f"{accelerator}: {back.sum()} samples not later than the one before",
                "read_ns rises from row to row",
                "Samples were moved, doubled or joined from several runs. Leave the table "
                "as it was written.",
            )
