"""The tables of a bundle as rules and metrics see them: columns as NumPy arrays, rows by their
place in the file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLES, BATCHES = "samples.csv.gz", "batches.csv.gz"
RESULT, SYSTEM, ENVIRONMENT = "result.json", "system.json", "environment.json"

POWER_COLUMNS = ("power_mw", "power_avg_mw")

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = Mask | NDArray[np.intp] | Ints | slice
"""Some rows of a table: a mask of shape (n,), places in it, or a slice."""


@dataclass(frozen=True)
class Text:
    """A column of text: row i has the text `names[codes[i]]`. Each name occurs once, in the order
    of its first row."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def equals(self, text: str) -> Mask:
        """Which rows have this text, shape (n,)."""
        code = self.names.index(text) if text in self.names else -1
        found: Mask = self.codes == code
        return found

    def at(self, where: Rows) -> "Text":
        """The column in some rows."""
        return Text(self.codes[where], self.names)

    def distinct(self) -> list[str]:
        """The texts that occur, in the order of their first rows."""
        if len(self.names) < 2:
            return list(self.names) if len(self.codes) else []
        # `unique` sorts by code. The first rows give the order of the file.
        codes, first = np.unique(self.codes, return_index=True)
        return [self.names[code] for code in codes[np.argsort(first)].tolist()]

    def to_list(self) -> list[str]:
        """The texts, row by row."""
        return [self.names[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class Table:
    """Some or all rows of a table, n of them. The rows of a column are selected when the column is
    first used, and then cached."""

    columns: Mapping[str, Any]
    """Of the whole table, by name: int64 or float64 of shape (all,), NaN for an empty cell, or a
    `Text`."""
    places: NDArray[np.intp] | Ints
    """The rows' places in the file, shape (n,), from 0."""
    whole_table: bool = False
    _floats: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)
    _ints: dict[str, Ints] = field(default_factory=dict, compare=False, repr=False)
    _text: dict[str, Text] = field(default_factory=dict, compare=False, repr=False)
    _gaps: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "Table":
        """Return a whole table with these columns, each an array of numbers or a `Text`."""
        return cls(columns, np.arange(len(next(iter(columns.values()), ()))), True)

    def __len__(self) -> int:
        return len(self.places)

    def floats(self, column: str) -> Floats:
        """A column as float64, shape (n,), NaN for an empty cell."""
        if column not in self._floats:
            self._floats[column] = self._rows_of(column).astype(np.float64, copy=False)
        return self._floats[column]

    def ints(self, column: str) -> Ints:
        """A column without empty cells as int64, shape (n,)."""
        if column not in self._ints:
            self._ints[column] = self._rows_of(column).astype(np.int64, copy=False)
        return self._ints[column]

    def text(self, column: str) -> Text:
        """A column of text, of n rows."""
        if column not in self._text:
            every: Text = self.columns[column]
            self._text[column] = every if self.whole_table else every.at(self.places)
        return self._text[column]

    def has_gaps(self, column: str) -> bool:
        """Whether a cell of a column is empty."""
        if column not in self._gaps:
            text = isinstance(self.columns[column], Text)
            empty = self.text(column).equals("") if text else np.isnan(self.floats(column))
            self._gaps[column] = bool(empty.any())
        return self._gaps[column]

    def at(self, rows: Rows) -> "Table":
        """Some of the rows."""
        return Table(self.columns, self.places[rows])

    def _rows_of(self, column: str) -> NDArray[Any]:
        every: NDArray[Any] = self.columns[column]
        return every if self.whole_table else every[self.places]


def of_each(samples: Table, values: Mapping[str, float]) -> Floats:
    """For each sample the value of its accelerator, shape (n,), NaN where there is none."""
    of = samples.text("accelerator")
    return np.array([values.get(name, np.nan) for name in of.names], dtype=np.float64)[of.codes]


def rows(table: Table, where: Mask) -> str:
    """The name of the rows of a (part of a) table where `where`, shape (n,), holds; rows of a file
    count from 1."""
    places = table.places[where]
    first, last = int(places.min()) + 1, int(places.max()) + 1
    return f"row {first}" if first == last else f"rows {first}-{last}"


def offenders(samples: Table, wrong: Mask) -> Iterator[tuple[str, str, int]]:
    """For each accelerator with samples for which `wrong`, shape (n,), holds: its name, the rows of
    these samples, and their number."""
    if not wrong.any():
        return
    of = samples.text("accelerator")
    for accelerator in of.at(wrong).distinct():
        own = wrong & of.equals(accelerator)
        yield accelerator, rows(samples, own), int(own.sum())
