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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES, rows
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import joined, of_first

RULE = Rule("W101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for accelerator, samples in bundle.samples_of.items():
        back = np.diff(samples.ints("read_ns"), prepend=-1) <= 0
        if back.any():
            yield Found(
                SAMPLES,
                rows(samples, back),
                f"{accelerator}: {back.sum()} samples not later than the one before",
                "read_ns rises from row to row",
                "Samples were moved, doubled or joined from several runs. Leave the table "
                "as it was written.",
            )


@RULE.mutation("T101", "E101")
def two_samples_swapped(evidence: Evidence) -> None:
    own = np.flatnonzero(of_first(evidence))
    order = np.arange(len(evidence.samples))
    order[[own[50], own[51]]] = order[[own[51], own[50]]]
    evidence.samples = evidence.samples.iloc[order].reset_index(drop=True)


@RULE.mutation("T101")
def sample_doubled(evidence: Evidence) -> None:
    row = np.flatnonzero(of_first(evidence))[200]
    samples = evidence.samples
    evidence.samples = joined(samples[: row + 1], samples[row:])
