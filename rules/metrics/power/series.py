"""The readings of one accelerator over a run as arrays, and statistics that several rules use."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.boards import find_board
from rules.bundle_format.table import Floats, Mask, Table, format_rows
from rules.declarations.system import Accelerator
from rules.metrics.parts import Part
from rules.metrics.power.readings import (
    read_average_power_w,
    read_counter_j,
    read_power_w,
    to_whole_milliwatts,
)
from rules.metrics.power.slowdown import POWER_CAP, have_any_bit

MEASURED = ("H200",)
"""The boards that the statistics were found on (docs/forensics.md)."""
PERIOD_S = 0.1
"""Time between two values of the readings and counters of these boards."""
SIGNS = 64
"""How many differences in a row make a pattern."""
LAGS = 32
_LAGS = np.arange(1, LAGS + 1, dtype=np.uint64)
REGULAR = 0.85
"""From this share on of signs that agree with those some samples later, at one of `LAGS` lags, a
pattern repeats itself."""
_MIN_AGREEING = np.ceil(REGULAR * (SIGNS - _LAGS)).astype(np.uint8)
_CHUNK = 2**14
"""How many patterns are compared with themselves at a time, to bound memory."""
IN_A_ROW = 32
# Fixed and not random, so that the hashes under one salt are the same in every process.
_ODD = (
    0x9E3779B97F4A7C15,
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
    0xC4CEB9FE1A85EC53,
)
"""Odd numbers with well mixed bits. Multiplication by an odd number modulo 2^64 is invertible, so
it loses no information."""
ENOUGH = 1000
"""The least number of samples under load from which a distribution is estimated."""


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
        return have_any_bit(self.samples, POWER_CAP.get(self.vendor, 0))

    @cached_property
    def capped_share(self) -> float:
        """The share of the samples under load that are `capped`."""
        return float(np.count_nonzero(self.capped & self.load) / np.count_nonzero(self.load))

    @cached_property
    def mean_cap_w(self) -> float:
        """The mean of the caps in force under load in W; NaN if none was read."""
        caps_w = _finite(self.samples.floats("cap_mw")[self.load]) / 1e3
        return _mean(caps_w) if len(caps_w) else math.nan

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
        """The `mean_absolute_deviation` of `under_load_w`."""
        return mean_absolute_deviation(self.under_load_w)

    @cached_property
    def counted_w(self) -> Floats:
        """The power that the counter's step from each sample to the next one gives, shape (n -
        1,)."""
        return np.diff(self.counter_j) / np.diff(self.read_s)

    @cached_property
    def patterns(self) -> "NDArray[np.uint64]":
        """The `find_patterns` of `usable_w`."""
        return find_patterns(self.usable_w)

    @cached_property
    def measured(self) -> bool:
        """Whether the statistics apply: to boards in `MEASURED`, with `ENOUGH` instantaneous
        readings under load."""
        known = find_board(self.name)
        return known is not None and known.id in MEASURED and len(self.under_load_mw) >= ENOUGH

    @property
    def place(self) -> str:
        return format_rows(self.samples, self.load)


def find_patterns(values: Floats) -> "NDArray[np.uint64]":
    """Where the finite readings rise: a bit for each of `SIGNS` successive differences.

    `values` has shape (n,), and the result (n - SIGNS,), one pattern for each start.
    """
    up = np.diff(values[np.isfinite(values)]) > 0
    if len(up) < SIGNS:
        return np.empty(0, np.uint64)
    bits = up.astype(np.uint64)
    length = 1
    while length < SIGNS:  # doubles the length each time; the earliest sign is the highest bit
        bits = bits[:-length] << np.uint64(length) | bits[length:]
        length *= 2
    return bits


def repeat_themselves(patterns: "NDArray[np.uint64]") -> Mask:
    """Which patterns, shape (n,), repeat themselves at one of `LAGS` lags.

    Batches in phase with the sampling rise and fall alike in every run of the workload, so such
    patterns do not identify a run.
    """
    regular = np.zeros(len(patterns), dtype=bool)
    for begin in range(0, len(patterns), _CHUNK):
        signs = patterns[begin : begin + _CHUNK, None]
        # For each pattern and lag, a bit for each sign that equals the sign `lag` later; the last
        # `lag` signs have none to compare with and are masked.
        agreeing = ~(signs ^ (signs << _LAGS)) & (~np.uint64(0) << _LAGS)
        repeats = np.bitwise_count(agreeing) >= _MIN_AGREEING
        regular[begin : begin + _CHUNK] = repeats.any(axis=1)
    return regular


def hash_windows(values: NDArray[np.int64], salt: int = 0) -> "NDArray[np.uint64]":
    """A hash of every `IN_A_ROW` successive values: shape (n - IN_A_ROW + 1,) for values of shape
    (n,). Equal windows have equal hashes under one salt, which is a number of 64 bits. Without the
    salt, nobody knows the hash of a window."""
    hashes = (values.astype(np.uint64) + np.uint64(salt)) * np.uint64(_ODD[0])
    # A product moves bits upwards only. The shift carries high bits down.
    hashes ^= hashes >> np.uint64(29)
    length = 1
    for odd in _ODD[1:]:  # doubles the length of the windows each time
        hashes = hashes[:-length] * np.uint64(odd) + hashes[length:]
        length *= 2
    return hashes


def select_distinct(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values among ordered ones, shape (n,)."""
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def mean_absolute_deviation(values: Floats) -> float:
    """The mean absolute deviation of the finite `values`, 0 if there are none."""
    values = _finite(values)
    return _mean(np.abs(values - _mean(values))) if len(values) else 0.0


def _finite(values: Floats) -> Floats:
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]


def _mean(values: Floats) -> float:
    # `values.mean()` takes three times as long for a few thousand values.
    return float(np.add.reduce(values)) / len(values)


def correlate_lagged(first: Floats, second: Floats, max_lag: int) -> float | None:
    """Pearson's correlation of two series, shape (n,), at the lag of at most `max_lag` samples
    either way where its magnitude is largest.

    A value that is not finite counts as the mean. None if one of the series is mostly not finite or
    does not vary.
    """
    first, second = _centre(first), _centre(second)
    scale = float(np.sqrt((first @ first) * (second @ second)))
    if not scale > 0:
        return None
    covariances = [
        float(
            first[max(0, -lag) : len(first) - max(0, lag)]
            @ second[max(0, lag) : len(second) - max(0, -lag)]
        )
        for lag in range(-max_lag, max_lag + 1)
    ]
    return max(covariances, key=abs) / scale


def _centre(values: Floats) -> Floats:
    finite = np.isfinite(values)
    if finite.all() and len(values):
        return values - _mean(values)
    # Mostly missing: zeros make the caller return None.
    if 2 * np.count_nonzero(finite) < len(values) or not len(values):
        return np.zeros(len(values))
    # Zero is the mean here, so a missing value adds nothing to the correlation.
    return np.where(finite, values - _mean(values[finite]), 0.0)


def split_halves(count: int) -> tuple[slice, ...]:
    """The two halves of `count` samples if each has `ENOUGH`, else the whole.

    A forgery of only one half is then as noticeable as a forgery of the whole.
    """
    return (
        (slice(0, count // 2), slice(count // 2, count))
        if count >= 2 * ENOUGH
        else (slice(0, count),)
    )


def build_series(
    parts: Iterable[Part], accelerators: Mapping[str, Accelerator]
) -> Iterator[Series]:
    """The series of each accelerator that has samples under load in the parts. `accelerators` are
    those of system.json by UUID."""
    loads: dict[str, tuple[Table, Mask]] = {}
    for part in parts:
        _, load = loads.setdefault(
            part.accelerator, (part.sampled, np.zeros(len(part.sampled), dtype=bool))
        )
        load[part.rows] = True
    for uuid, (samples, load) in loads.items():
        if load.any():
            accelerator = accelerators.get(uuid)
            vendor, name = (accelerator.vendor, accelerator.name) if accelerator else ("", "")
            yield Series(uuid, vendor, name, samples, load)
