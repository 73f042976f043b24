"""Batch windows are empty, overlap or are out of order

## What it does
Checks that every batch ends after it begins and, for training, that the batches of a rank follow
each other without overlap in the order of their numbers.

## Why it is bad
Time and energy count over the union of the windows. One accelerator trains one batch after the
other, so windows that overlap or end before they begin were not measured.

## What to do
Record windows with two events on the stream of the device, as the recorder of `bench-submit` does.
Requests of a serving run may overlap and are not compared.

## Source
Protocol, section "what counts".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, format_rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P110", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    batches = bundle.batches
    start_ns, end_ns = batches.ints("start_ns"), batches.ints("end_ns")
    empty = end_ns <= start_ns
    if empty.any():
        yield Violation(
            BATCHES,
            format_rows(batches, empty),
            f"{empty.sum()} batches end before they begin",
            "end_ns > start_ns",
        )
    # The requests of a server overlap, because it answers many at once.
    if not bundle.runs_batches_in_turn:
        return
    epoch, rank = batches.ints("epoch"), batches.ints("rank")
    # `batches_of` has the rows of an epoch and rank in the order of the batch numbers.
    order = np.concatenate([np.empty(0, dtype=np.int64), *bundle.batches_of.values()])
    same_rank = (np.diff(epoch[order]) == 0) & (np.diff(rank[order]) == 0)
    overlapping = np.zeros(len(order), dtype=bool)
    overlapping[order[1:][same_rank & (start_ns[order][1:] < end_ns[order][:-1])]] = True
    if overlapping.any():
        yield Violation(
            BATCHES,
            format_rows(batches, overlapping),
            f"{overlapping.sum()} batches begin before the previous batch has ended",
            "the batches of a rank one after the other, in the order of their numbers",
        )
