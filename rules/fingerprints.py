"""Fingerprints of series: few numbers by which two runs that share readings are found.

They are small enough that one process holds those of a whole round.
"""

import numpy as np
from numpy.typing import NDArray

from rules.metrics.power_series import IN_A_ROW, hash_windows, repeat_themselves

MIN_DISTINCT = 8
"""A window counts only with so many different values: a few that alternate repeat by chance."""
MAX_FINGERPRINTS = 16
"""How many fingerprints of a series are kept: the smallest ones. Two series that share a part then
share some of them."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplication by an odd number modulo 2**64 is a bijection, and mixes the bits."""
_ODD_INVERSE = np.uint64(pow(int(_ODD), -1, 2**64))
_ONE = np.uint64(1)
_WINDOW = np.arange(IN_A_ROW)


def fingerprint_values(values: NDArray[np.int64]) -> frozenset[int]:
    """The smallest fingerprints of a series of shape (n,). They do not depend on where in a series
    the values are.

    A fingerprint is of `IN_A_ROW` values in a row of which `MIN_DISTINCT` differ. Two series that
    share a tenth of 3 000 readings share a fingerprint with a probability of 0.7. Those that share
    half of them always do (300 trials each on measured series).
    """
    if len(values) < IN_A_ROW:
        return frozenset()
    mixed = (hash_windows(values) * _ODD) >> _ONE
    candidates = min(4 * MAX_FINGERPRINTS, len(mixed) - 1)
    smallest = np.argpartition(mixed, candidates)[: candidates + 1]
    smallest = smallest[np.argsort(mixed[smallest])]
    fingerprints: list[int] = []
    for begin in range(0, len(smallest), 2 * MAX_FINGERPRINTS):  # the first pass mostly suffices
        places = smallest[begin : begin + 2 * MAX_FINGERPRINTS]
        windows = np.sort(values[places[:, None] + _WINDOW], axis=1)
        distinct = (np.diff(windows, axis=1) != 0).sum(axis=1) + 1
        fingerprints += mixed[places[distinct >= MIN_DISTINCT]].tolist()
        if len(fingerprints) >= MAX_FINGERPRINTS:
            break
    return frozenset(fingerprints[:MAX_FINGERPRINTS])


def fingerprint_patterns(patterns: NDArray[np.uint64]) -> frozenset[int]:
    """The smallest fingerprints of the patterns of a series, shape (n,), that occur once and do not
    repeat themselves (`rules.metrics.power_series.patterns`)."""
    ordered = np.sort(patterns * _ODD)
    differs = np.ones(len(ordered) + 1, dtype=bool)
    differs[1:-1] = ordered[1:] != ordered[:-1]
    unique = ordered[differs[1:] & differs[:-1]]
    fingerprints: list[int] = []
    for begin in range(0, len(unique), 4 * MAX_FINGERPRINTS):  # the first pass mostly suffices
        chunk = unique[begin : begin + 4 * MAX_FINGERPRINTS]
        fingerprints += (chunk[~repeat_themselves(chunk * _ODD_INVERSE)] >> _ONE).tolist()
        if len(fingerprints) >= MAX_FINGERPRINTS:
            break
    return frozenset(fingerprints[:MAX_FINGERPRINTS])
