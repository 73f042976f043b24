"""Sequences of power readings occur twice

## What it does
Looks for sequences of 32 power readings under load that occur a second time, to the milliwatt: in
another epoch, at another time of the same epoch, or on another accelerator. Sequences with fewer
than eight different values are skipped. The two dies of an MI250X have one reading, so only the
first one is compared.

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
    sharers = _list_sharers(bundle)
    parts = [part for part in bundle.scored_parts if part.accelerator not in sharers]
    copies = find_copied_sequences([part.power_w for part in parts])
    if len(copies):
        places = np.concatenate([part.places for part in parts])[copies]
        yield Violation(
            SAMPLES,
            f"rows {places[0] + 1}-{places[-1] + 1}",
            f"{len(places)} sequences of {IN_A_ROW} power readings that occur elsewhere too",
            "sequences that occur once",
        )


def _list_sharers(bundle: Bundle) -> set[str]:
    """The accelerators whose reading is that of an earlier one, because both are dies of a card."""
    dies = [
        uuid for uuid in bundle.accelerator_ranks if (b := bundle.board_of(uuid)) and b.dies > 1
    ]
    return set(dies[1::2])
