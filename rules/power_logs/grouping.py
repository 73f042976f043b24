"""Finds out that the rows of a table are of several feeds which nobody declared."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Ints

MAX_ROWS, MAX_ROWS_AGAIN = 5_000, 200_000
"""Rows from the beginning of a log that are looked at, at first and once more if it is refused."""
_MAX_CELLS = 2_000_000
MAX_SHARE, MIN_ROWS = 0.1, 3
"""A log of which more than this share of its readings, and so many, would be left out is no log of
one feed."""
_MAX_FEEDS = 128
_CYCLIC_SHARE = 0.95
_MIN_CYCLES = 3
_NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?|-|")
_NAMES_FEED = re.compile(
    r"(?<![a-z])(gpu|cpu|index|idx|id|device|dev|card|board|slot|socket|host|node|outlet|port|"
    r"channel|ch|feed|entity|psu|rank|sensor|meter|domain|phase|uuid|bus)(?![a-z])",
    re.IGNORECASE,
)
_SECONDS = 60
"""A column that cycles over 60 values counts seconds or minutes."""
_TICK_SHARE = 0.8
_SHORT_STEP = 0.2
"""Steps within a tick are shorter than this share of the steps between ticks."""


@dataclass
class RowSample:
    """The first rows of a log."""

    limit: int = MAX_ROWS
    times_ns: list[int] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    _cells: int = 0
    """How many cells the sample has."""

    def add(self, time_ns: int, cells: list[str]) -> None:
        """Add a row, if the sample is not full."""
        if len(self.times_ns) < self.limit and self._cells < _MAX_CELLS:
            self._cells += len(cells)
            self.times_ns.append(time_ns)
            self.cells.append(cells)


def find_cycling_column(
    sample: RowSample, header: Sequence[str], unused: Sequence[int]
) -> tuple[int, list[str]] | None:
    """The first of the unused columns whose few values follow each other in a fixed order and name
    a feed, and these values; None if there is none. Numbers name feeds if the header says so, or if
    the rows of a cycle follow each other at once: the numbers may be measured."""
    rows_per_tick = count_rows_per_tick(sample.times_ns)
    for column in unused:
        values = [cells[column] for cells in sample.cells]
        distinct = list(dict.fromkeys(values[: _MAX_FEEDS + 1]))
        count = len(distinct)
        if not 2 <= count <= _MAX_FEEDS or count == _SECONDS or len(values) < _MIN_CYCLES * count:
            continue
        repeats = sum(map(str.__eq__, values, values[count:]))
        if values[:count] != distinct or repeats < _CYCLIC_SHARE * (len(values) - count):
            continue
        is_number = all(_NUMBER.fullmatch(value) for value in distinct)
        if not is_number or count == rows_per_tick or _NAMES_FEED.search(header[column]):
            return column, distinct
    return None


def find_separating_column(
    sample: RowSample, unused: Sequence[int]
) -> tuple[int, list[str]] | None:
    """The first of the unused columns with few values for each of which the times rise, although
    they do not rise in the whole log; None if there is none."""
    for column in unused:
        times_ns: dict[str, list[int]] = {}
        for time_ns, cells in zip(sample.times_ns, sample.cells, strict=True):
            times_ns.setdefault(cells[column], []).append(time_ns)
        if not 2 <= len(times_ns) <= _MAX_FEEDS:
            continue
        steps = np.concatenate([np.diff(times) for times in times_ns.values()])
        if len(steps) and np.mean(steps > 0) >= _CYCLIC_SHARE:
            return column, list(times_ns)
    return None


def count_rows_per_tick(times_ns: Sequence[int]) -> int:
    """How many rows follow each other at once, again and again; 1 if rows are evenly spaced or come
    in groups of different sizes."""
    steps_ns = np.diff(np.array(times_ns, np.int64)).astype(np.float64)
    if len(steps_ns) < 2 * _MIN_CYCLES:
        return 1
    longest_ns = float(np.percentile(steps_ns, 90, method="higher"))
    # A tick of many rows has one long step only.
    longest_ns = max(longest_ns, float(np.sort(steps_ns)[-max(len(steps_ns) // _MAX_FEEDS, 1)]))
    ends = np.flatnonzero(steps_ns > _SHORT_STEP * longest_ns)
    sizes = Counter(np.diff(ends).tolist())
    if sum(sizes.values()) < _MIN_CYCLES - 1:
        return 1
    size, count = sizes.most_common(1)[0]
    return int(size) if count >= _TICK_SHARE * sum(sizes.values()) else 1


def exceeds_share(left_out: int, readings: Sized) -> bool:
    """Whether too many of the readings are left out."""
    return left_out >= MIN_ROWS and left_out > MAX_SHARE * len(readings)


def find_longest_rising(times_ns: Ints) -> NDArray[np.intp]:
    """The rows of a longest sequence of readings with rising times, shape (k,). It leaves out the
    fewest readings, whether single stamps are wrong or the clock was set back."""
    if np.all(np.diff(times_ns) > 0):
        return np.arange(len(times_ns), dtype=np.intp)
    smallest_ends: list[int] = []
    rows: list[int] = []
    """The last row of the sequence of each length that ends with the smallest time."""
    before = np.full(len(times_ns), -1)
    for row, time_ns in enumerate(times_ns.tolist()):
        length = bisect_left(smallest_ends, time_ns)
        if length == len(smallest_ends):
            smallest_ends.append(time_ns)
            rows.append(row)
        elif time_ns < smallest_ends[length]:  # of equal times, the first one stays
            smallest_ends[length], rows[length] = time_ns, row
        before[row] = rows[length - 1] if length else -1
    kept = [rows[-1]] if rows else []
    while kept and before[kept[-1]] >= 0:
        kept.append(int(before[kept[-1]]))
    return np.array(kept[::-1], dtype=np.intp)
