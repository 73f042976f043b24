"""Power readings that occur twice

## What it does
Looks for sequences of power readings under load that occur a second time, to the milliwatt: in
another epoch, elsewhere in the same one, or on another accelerator. Sequences of only a few
different values are left alone.

## Why it is bad
Noise does not repeat. Such readings were copied, from a better epoch or from a better board.

## What to do
Hand in what was sampled.

## Source
None: with eight different values among 32 readings a repetition by chance is out of the question.
"""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import IN_A_ROW, rolling
from rules.metrics.readings import to_whole_milliwatts
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W111", Severity.ERROR)

DIFFERENT = 8


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    columns = [part.power_w for part in bundle.scored_parts]
    if sum(map(len, columns)) < IN_A_ROW:
        return
    power_w = np.concatenate(columns)
    power_w = np.where(np.isnan(power_w), -1.0, power_w)
    within = np.ones(len(power_w) - IN_A_ROW + 1, dtype=bool)
    for end in np.cumsum(list(map(len, columns)))[:-1]:
        within[max(end - IN_A_ROW + 1, 0) : end] = (
            False  # they begin in one part and end in the next
        )
    begins = np.flatnonzero(within)
    sums = rolling(to_whole_milliwatts(power_w))[begins]
    if np.diff(np.sort(sums)).all():
        return
    order = np.argsort(sums, kind="stable")
    alike = np.flatnonzero(np.diff(sums[order]) == 0)
    windows = sliding_window_view(power_w, IN_A_ROW)
    one, other = windows[begins[order[alike]]], windows[begins[order[alike + 1]]]
    different = (np.diff(np.sort(one, axis=1), axis=1) != 0).sum(axis=1) + 1
    copied = order[alike + 1][(one == other).all(axis=1) & (different >= DIFFERENT)]
    if len(copied):
        found = np.concatenate([part.places for part in bundle.scored_parts])[
            begins[np.sort(copied)]
        ]
        yield Violation(
            SAMPLES,
            f"rows {found[0] + 1}-{found[-1] + 1}",
            f"{len(found)} sequences of {IN_A_ROW} power readings that occur elsewhere too",
            "readings that were each taken once",
            "Noise does not repeat to the milliwatt: readings were copied. Hand in what "
            "was sampled.",
        )
