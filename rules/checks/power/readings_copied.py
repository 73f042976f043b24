"""Sequences of power readings occur twice

## What it does
Looks for sequences of 32 power readings under load that occur a second time, to the milliwatt: in
another epoch, at another time of the same epoch, or on another accelerator. Sequences with fewer
than eight different values are skipped.

## Why it is bad
Noise does not repeat. Such readings were copied, from a better epoch or from a better board.

## What to do
Submit the readings that were sampled.

## Source
Own derivation: with eight different values among 32 readings, a repetition by chance can be
excluded.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.copies.readings import find_copied_sequences
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W111", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    parts = bundle.scored_parts
    copies = find_copied_sequences([part.power_w for part in parts])
    if len(copies):
        places = np.concatenate([part.places for part in parts])[copies]
        yield Violation(
            SAMPLES,
            f"rows {places[0] + 1}-{places[-1] + 1}",
            f"{len(places)} sequences of {IN_A_ROW} power readings that occur elsewhere too",
            "sequences that occur once",
        )
