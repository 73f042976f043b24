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

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, Mask
from rules.finding import Severity, Violation
from rules.metrics.power_series import IN_A_ROW, hash_windows
from rules.metrics.readings import to_whole_milliwatts
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W111", Severity.ERROR)

MIN_DISTINCT = 8
"""Sequences with fewer different values may repeat by chance."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    columns = [part.power_w for part in bundle.scored_parts]
    if sum(map(len, columns)) < IN_A_ROW:
        return
    power_w = np.concatenate(columns)
    # NaN differs from itself. A value that no reading has makes equal gaps compare as equal.
    power_w = np.where(np.isnan(power_w), -1.0, power_w)
    # A sequence across two parts would join readings that were not taken in a row.
    starts = np.flatnonzero(_is_within_part(list(map(len, columns))))
    hashes = hash_windows(to_whole_milliwatts(power_w))[starts]
    if np.diff(np.sort(hashes)).all():
        return  # the usual case: all sequences differ
    # A stable sort keeps equal hashes in the order of the table, so the later copy is reported.
    order = np.argsort(hashes, kind="stable")
    equal_hash = np.flatnonzero(np.diff(hashes[order]) == 0)
    sequences = sliding_window_view(power_w, IN_A_ROW)
    earlier = sequences[starts[order[equal_hash]]]
    later = sequences[starts[order[equal_hash + 1]]]
    # Equal hashes can be collisions, so compare the readings themselves as well.
    distinct = (np.diff(np.sort(earlier, axis=1), axis=1) != 0).sum(axis=1) + 1
    is_copy = (earlier == later).all(axis=1) & (distinct >= MIN_DISTINCT)
    copies = np.sort(order[equal_hash + 1][is_copy])
    if len(copies):
        places = np.concatenate([part.places for part in bundle.scored_parts])[starts[copies]]
        yield Violation(
            SAMPLES,
            f"rows {places[0] + 1}-{places[-1] + 1}",
            f"{len(places)} sequences of {IN_A_ROW} power readings that occur elsewhere too",
            "sequences that occur once",
        )


def _is_within_part(lengths: Sequence[int]) -> Mask:
    """Which sequences begin and end in the same part, for parts of `lengths` readings in a row."""
    within = np.ones(sum(lengths) - IN_A_ROW + 1, dtype=bool)
    for end in np.cumsum(lengths)[:-1]:
        within[max(end - IN_A_ROW + 1, 0) : end] = False
    return within
