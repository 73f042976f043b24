"""The tables of a run, taken apart: the samples of each accelerator, the batches of each epoch and rank; unions of intervals."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sampled:
    """The samples of one accelerator: the table of all samples, and their places in it, shape (n,)."""

    every: "pd.DataFrame"
    places: Ints

    @cached_property
    def table(self) -> "pd.DataFrame":
        return self.every.iloc[self.places]

    @cached_property
    def _columns(self) -> dict[str, Floats]:
        return {}

    def column(self, name: str) -> Floats:
        """A column as float64, shape (n,), NaN for an empty cell; kept, as each epoch asks for it anew."""
        if name not in self._columns:
            self._columns[name] = self.every[name].to_numpy(np.float64)[self.places]
        return self._columns[name]


def by_accelerator(samples: "pd.DataFrame") -> dict[str, Sampled]:
    """The samples of each accelerator, in the order in which the accelerators come first."""
    numbers: dict[str, int] = {}
    of = np.array([numbers.setdefault(name, len(numbers)) for name in samples["accelerator"].tolist()], dtype=np.int64)
    ends = np.cumsum(np.bincount(of, minlength=len(numbers)))
    places = np.split(np.argsort(of, kind="stable"), ends[:-1])
    return {name: Sampled(samples, own) for name, own in zip(numbers, places, strict=False)}


def by_epoch_and_rank(batches: "pd.DataFrame") -> dict[tuple[int, int], Ints]:
    """The places of the batches of each epoch and rank, in the order of these two."""
    epochs, ranks = (batches[name].to_numpy(np.int64) for name in ("epoch", "rank"))
    order = np.lexsort((ranks, epochs))
    epochs, ranks = epochs[order], ranks[order]
    opens = np.flatnonzero(np.diff(epochs, prepend=epochs[:1] - 1).astype(bool) | np.diff(ranks, prepend=ranks[:1]).astype(bool))
    groups = np.split(order, opens[1:]) if len(opens) else []
    return {(int(epochs[i]), int(ranks[i])): at for i, at in zip(opens, groups, strict=True)}


def union(starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Starts and ends, each of shape (m,), of the union of n >= 1 intervals; touching intervals are joined."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    opens = np.concatenate(([True], starts[1:] > ends[:-1]))
    first = np.flatnonzero(opens)
    last = np.append(first[1:] - 1, len(starts) - 1)
    return starts[first], ends[last]


def inside(times: Floats, starts: Floats, ends: Floats) -> NDArray[np.bool_]:
    """Which times, shape (n,), lie in the union of intervals given by `union`."""
    at = np.searchsorted(starts, times, side="right") - 1
    return (at >= 0) & (times <= ends[np.maximum(at, 0)])


def p95(values: Floats) -> float:
    """The 95th percentile of n >= 1 values, between two of them linearly: NumPy's, without what it does for other cases."""
    at = 0.95 * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    ordered = np.partition(values, (low, high))
    below, above, share = float(ordered[low]), float(ordered[high]), at - low
    return above - (above - below) * (1 - share) if share >= 0.5 else below + (above - below) * share
