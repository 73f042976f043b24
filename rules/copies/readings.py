"""Signs that power readings were copied or multiplied: sequences that occur twice, and the steps of
the sensor."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rules.bundle_format.table import Floats, Ints, Mask
from rules.metrics.power.readings import to_whole_milliwatts
from rules.metrics.power.series import IN_A_ROW, hash_windows, select_distinct

MIN_DISTINCT = 8
"""Sequences with fewer different values may repeat by chance."""
COMPARED_AT_ONCE = 65_536
"""Sequences that are compared at the same time."""
STEPS_MW = (312.0, 334.0)
"""Range of plausible steps of the sensor of an H200; measured boards have 319 to 328 mW
(docs/forensics.md)."""
STEP_DISTANCES_MW = (60, 800)
"""Range of the distances among which the step is sought."""
STEP_WIDTH_MW = 6
"""Width of the range of distances that count as one step."""
MIN_STEPS = 30
FREQUENT_SHARE = 0.7
"""Share of the pairs of the most frequent distance from which a distance counts as frequent. The
offset of two grids of one step has half the pairs of the step; twice the step has nearly as many as
the step."""


def find_copied_sequences(columns: Sequence[Floats]) -> Ints:
    """The sequences of `IN_A_ROW` readings that occurred before, as the places of their first
    readings among all readings, rising, shape (m,). Each column has readings in W in the order of
    time."""
    if sum(map(len, columns)) < IN_A_ROW:
        return np.empty(0, dtype=np.int64)
    power_w = np.concatenate(columns)
    # NaN differs from itself. A value that no reading has makes equal gaps compare as equal.
    power_w = np.where(np.isnan(power_w), -1.0, power_w)
    # A sequence across two columns would join readings that were not taken in a row.
    starts = np.flatnonzero(_is_within_column(list(map(len, columns))))
    hashes = hash_windows(to_whole_milliwatts(power_w))[starts]
    if np.diff(np.sort(hashes)).all():
        return np.empty(0, dtype=np.int64)  # the usual case: all sequences differ
    # A stable sort keeps equal hashes in the order of the table, so the later copy is reported.
    order = np.argsort(hashes, kind="stable")
    equal_hash = np.flatnonzero(np.diff(hashes[order]) == 0)
    sequences = sliding_window_view(power_w, IN_A_ROW)
    # Equal hashes can be collisions, so compare the readings themselves as well. In parts, because
    # each sequence takes the memory of its readings.
    is_copy = np.concatenate(
        [
            _are_copies(sequences[starts[order[part]]], sequences[starts[order[part + 1]]])
            for part in np.array_split(equal_hash, len(equal_hash) // COMPARED_AT_ONCE + 1)
        ]
    )
    copies: Ints = starts[np.sort(order[equal_hash + 1][is_copy])]
    return copies


def _are_copies(earlier: Floats, later: Floats) -> Mask:
    """Which sequences, shape (m, `IN_A_ROW`), are equal and have enough different values."""
    distinct = (np.diff(np.sort(earlier, axis=1), axis=1) != 0).sum(axis=1) + 1
    copies: Mask = (earlier == later).all(axis=1) & (distinct >= MIN_DISTINCT)
    return copies


def _is_within_column(lengths: Sequence[int]) -> Mask:
    """Which sequences begin and end in the same column, for columns of `lengths` readings in a
    row."""
    within = np.ones(sum(lengths) - IN_A_ROW + 1, dtype=bool)
    for end in np.cumsum(lengths)[:-1]:
        within[max(end - IN_A_ROW + 1, 0) : end] = False
    return within


def find_step_mw(ordered_mw: NDArray[np.int64]) -> float | None:
    """The smallest distance in mW that is frequent between two readings; None if none is.

    `ordered_mw` are readings in mW in ascending order, shape (n,). All pairs of readings count, not
    only neighbours: the readings of one board can lie on several grids of one step, and a reading's
    neighbour is then on another grid.
    """
    low_mw, high_mw = STEP_DISTANCES_MW
    readings = select_distinct(ordered_mw)
    pairs = np.zeros(high_mw + 1, dtype=np.int64)
    for lag in range(1, len(readings)):
        distances = readings[lag:] - readings[:-lag]
        distances = distances[distances <= high_mw]
        if not len(distances):
            break
        pairs += np.bincount(distances, minlength=high_mw + 1)
    pairs[:low_mw] = 0
    # Readings are rounded to milliwatts, so the distances of one step scatter over a few values.
    # Count them in a window.
    counts = np.convolve(pairs, np.ones(STEP_WIDTH_MW, dtype=np.int64), mode="valid")
    if counts.max() < MIN_STEPS:
        return None
    # Multiples of the step are as frequent as the step itself, so the smallest frequent distance is
    # the step. Windows that begin before its own hold a part of its distances.
    smallest = int(np.argmax(counts >= FREQUENT_SHARE * counts.max()))
    first = smallest + int(counts[smallest : smallest + STEP_WIDTH_MW].argmax())
    window_mw = np.arange(first, first + STEP_WIDTH_MW)
    return float(np.average(window_mw, weights=pairs[window_mw]))
