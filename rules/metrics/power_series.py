"""What a sensor said of one accelerator over a run, as arrays, and the statistics of it that
several rules use."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.boards import board
from rules.bundle_format.table import Floats, Mask, Table, rows
from rules.metrics.readings import (
    read_average_power_w,
    read_counter_j,
    read_power_w,
    to_whole_milliwatts,
)
from rules.slowdown import POWER_CAP, any_of

MEASURED = ("H200",)
"""The boards that the statistics were found on (docs/forensics.md)."""
SIGNS = 64
"""How many differences in a row make a pattern."""
LAGS = 32
_LAGS = np.arange(1, LAGS + 1, dtype=np.uint64)
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
"""How many bits are set in a byte."""
REGULAR = 0.85
"""From this share on of signs that agree with those some samples later, at one of `LAGS` lags, a
pattern repeats itself."""
IN_A_ROW = 32
_ODD = (
    0x9E3779B97F4A7C15,
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
    0xC4CEB9FE1A85EC53,
)
"""Odd numbers whose bits are as good as random: multiplying by them loses nothing."""
ENOUGH = 1000
"""Fewer samples under load tell too little of a distribution."""


@dataclass(frozen=True)
class Series:
    """All samples of one accelerator in order, each of shape (n,): time in s, power in W, counter
    in J, clock in MHz."""

    accelerator: str
    vendor: str
    name: str
    samples: Table
    load: Mask
    """Which lie in active windows of scored epochs."""

    @cached_property
    def read_s(self) -> Floats:
        return self.samples.floats("read_ns") / 1e9

    @cached_property
    def power_w(self) -> Floats:
        return read_power_w(self.samples)

    @cached_property
    def average_w(self) -> Floats:
        return read_average_power_w(self.samples)

    @cached_property
    def counter_j(self) -> Floats:
        return read_counter_j(self.samples)

    @cached_property
    def sm_mhz(self) -> Floats:
        return self.samples.floats("sm_mhz")

    @cached_property
    def capped(self) -> Mask:
        """Which samples say that the power cap held the clock down."""
        return any_of(self.samples, POWER_CAP.get(self.vendor, 0))

    @cached_property
    def capped_share(self) -> float:
        """The share of the samples under load that are `capped`."""
        return float(np.count_nonzero(self.capped & self.load) / np.count_nonzero(self.load))

    @cached_property
    def under_load_w(self) -> Floats:
        return self.power_w[self.load]

    @cached_property
    def usable_w(self) -> Floats:
        """The readings under load that succeeded; the averaged ones where there are no others."""
        usable_w = _finite(self.under_load_w)
        return usable_w if len(usable_w) else _finite(self.average_w[self.load])

    @cached_property
    def under_load_mw(self) -> NDArray[np.int64]:
        """The instantaneous readings under load that succeeded, as the driver gave them."""
        return to_whole_milliwatts(_finite(self.under_load_w))

    @cached_property
    def ordered_mw(self) -> NDArray[np.int64]:
        """`under_load_mw` in order of size."""
        return np.sort(self.under_load_mw)

    @cached_property
    def spread_w(self) -> float:
        """The `spread` of `under_load_w`."""
        return spread(self.under_load_w)

    @cached_property
    def counted_w(self) -> Floats:
        """The power that the counter's step from each sample to the next one gives, shape (n -
        1,)."""
        return np.diff(self.counter_j) / np.diff(self.read_s)

    @cached_property
    def patterns(self) -> "NDArray[np.uint64]":
        """The `patterns` of `usable_w`."""
        return patterns(self.usable_w)

    @cached_property
    def measured(self) -> bool:
        """Whether the statistics apply: to boards in `MEASURED`, with `ENOUGH` instantaneous
        readings under load."""
        known = board(self.name)
        return known is not None and known.id in MEASURED and len(self.under_load_mw) >= ENOUGH

    @property
    def place(self) -> str:
        return rows(self.samples, self.load)


def patterns(values: Floats) -> "NDArray[np.uint64]":
    """Where readings, shape (n,), go up and where not, in every `SIGNS` differences in a row, a bit
    each: shape (n - SIGNS,)."""
    up = np.diff(values[np.isfinite(values)]) > 0
    if len(up) < SIGNS:
        return np.empty(0, np.uint64)
    found = up.astype(np.uint64)
    length = 1
    while length < SIGNS:  # each time of twice as many signs, the earliest one as the highest bit
        found = found[:-length] << np.uint64(length) | found[length:]
        length *= 2
    return found


def regular(some: "NDArray[np.uint64]") -> Mask:
    """Which of some patterns, shape (n,), repeat themselves at one of `LAGS` lags.

    Batches in phase with the sampling give the same ups and downs over and over, in any run of the
    work: such patterns tell nothing.
    """
    signs = some[:, None]
    # Of each pattern and lag: where a sign is that of `lag` signs later, as bits, the `lag` last
    # ones left out.
    agreeing = ~(signs ^ (signs << _LAGS)) & (~np.uint64(0) << _LAGS)
    counts = _BITS[agreeing.view(np.uint8)].reshape(len(some), LAGS, 8).sum(axis=2, dtype=np.uint8)
    found: Mask = (counts >= REGULAR * (SIGNS - np.arange(1, LAGS + 1))).any(axis=1)
    return found


def rolling(values: NDArray[np.int64]) -> "NDArray[np.uint64]":
    """A number for every `IN_A_ROW` of the values, shape (n,), equal where these are equal: shape
    (n - IN_A_ROW + 1,)."""
    found = values.astype(np.uint64) * np.uint64(_ODD[0])
    found ^= found >> np.uint64(29)
    length = 1
    for odd in _ODD[1:]:  # each time of twice as many values
        found = found[:-length] * np.uint64(odd) + found[length:]
        length *= 2
    return found


def distinct(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different ones of values, shape (n,), that are in order."""
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def spread(values: Floats) -> float:
    """The mean absolute deviation of the finite ones of `values`, 0 where there are none."""
    values = _finite(values)
    return _mean(np.abs(values - _mean(values))) if len(values) else 0.0


def _finite(values: Floats) -> Floats:
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]


def _mean(values: Floats) -> float:
    # The method of an array takes three times as long for a few thousand of them.
    return float(np.add.reduce(values)) / len(values)


def lagged(one: Floats, other: Floats, most: int) -> float | None:
    """Pearson's correlation of the largest magnitude over lags of up to `most` samples either way;
    both of shape (n,).

    Where one is not finite it counts as its mean. None where one of them is mostly not finite or
    does not vary.
    """
    first, second = _centred(one), _centred(other)
    scale = float(np.sqrt((first @ first) * (second @ second)))
    if not scale > 0:
        return None
    found = [
        float(
            first[max(0, -lag) : len(first) - max(0, lag)]
            @ second[max(0, lag) : len(second) - max(0, -lag)]
        )
        for lag in range(-most, most + 1)
    ]
    return max(found, key=abs) / scale


def _centred(values: Floats) -> Floats:
    finite = np.isfinite(values)
    if finite.all() and len(values):
        return values - _mean(values)
    if 2 * np.count_nonzero(finite) < len(values) or not len(values):
        return np.zeros(len(values))
    return np.where(finite, values - _mean(values[finite]), 0.0)


def halves(count: int) -> tuple[slice, ...]:
    """The two halves of `count` samples, where each has `ENOUGH`, so that what holds of one only
    shows; else the whole."""
    return (
        (slice(0, count // 2), slice(count // 2, count))
        if count >= 2 * ENOUGH
        else (slice(0, count),)
    )
