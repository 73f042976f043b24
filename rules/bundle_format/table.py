"""The tables of a bundle as rules and metrics use them: columns as NumPy arrays, rows by index in
the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.records import (
    BATCHES_FILE,
    ENVIRONMENT_FILE,
    RESULT_FILE,
    SAMPLES_FILE,
    SYSTEM_FILE,
    TEXT_COLUMNS,
)

SAMPLES, BATCHES = SAMPLES_FILE, BATCHES_FILE
RESULT, SYSTEM, ENVIRONMENT = RESULT_FILE, SYSTEM_FILE, ENVIRONMENT_FILE

POWER_COLUMNS = ("power_mw", "power_avg_mw")

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = Mask | NDArray[np.intp] | Ints | slice
"""A selection of the n rows of a table: a mask of shape (n,), indices, or a slice."""


@dataclass(frozen=True)
class Text:
    """A column of text in dictionary encoding: row i has `names[codes[i]]`. Each name is listed
    once, in the order of first rows."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def equals(self, text: str) -> Mask:
        """Return the mask of the rows that have this text, shape (n,)."""
        code = self.names.index(text) if text in self.names else -1
        mask: Mask = self.codes == code
        return mask

    def at(self, where: Rows) -> "Text":
        """Return the column restricted to some rows."""
        return Text(self.codes[where], self.names)

    def distinct(self) -> list[str]:
        """Return the texts that occur, in the order of their first rows."""
        if len(self.names) < 2:
            return list(self.names) if len(self.codes) else []
        # `unique` sorts by code. The first rows give the order of the file.
        codes, first = np.unique(self.codes, return_index=True)
        return [self.names[code] for code in codes[np.argsort(first)].tolist()]

    def to_list(self) -> list[str]:
        """Return the text of each row."""
        return [self.names[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class Table:
    """Some or all rows of a table, n of them. The rows of a column are selected when the column is
    first used, and then cached."""

    columns: Mapping[str, Any]
    """The columns of the whole table by name: int64 or float64 of shape (all rows,), NaN for an
    empty cell, or a `Text`."""
    places: NDArray[np.intp] | Ints
    """The indices of the rows in the file, from 0, shape (n,)."""
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
        """Return a column as float64, shape (n,), NaN for an empty cell."""
        if column not in self._floats:
            self._floats[column] = self._rows_of(column).astype(np.float64, copy=False)
        return self._floats[column]

    def ints(self, column: str) -> Ints:
        """Return a column without empty cells as int64, shape (n,)."""
        if column not in self._ints:
            self._ints[column] = self._rows_of(column).astype(np.int64, copy=False)
        return self._ints[column]

    def text(self, column: str) -> Text:
        """Return a column of text, of n rows."""
        if column not in self._text:
            whole: Text = self.columns[column]
            self._text[column] = whole if self.whole_table else whole.at(self.places)
        return self._text[column]

    def has_gaps(self, column: str) -> bool:
        """Whether any cell of a column is empty."""
        if column not in self._gaps:
            text = isinstance(self.columns[column], Text)
            empty = self.text(column).equals("") if text else np.isnan(self.floats(column))
            self._gaps[column] = bool(empty.any())
        return self._gaps[column]

    def at(self, rows: Rows) -> "Table":
        """Return the table restricted to some of its rows."""
        return Table(self.columns, self.places[rows])

    def without(self, column: str) -> "Table":
        """Return the table with every cell of a column of numbers empty."""
        empty = np.full(len(self.columns[column]), np.nan)
        return Table({**self.columns, column: empty}, self.places, self.whole_table)

    def _rows_of(self, column: str) -> NDArray[Any]:
        whole: NDArray[Any] = self.columns[column]
        return whole if self.whole_table else whole[self.places]


def join_tables(tables: Sequence[Table], columns: Sequence[str]) -> Table:
    """Return a whole table: these columns of the rows of all tables, one below the other."""
    return Table.of({name: _join_columns(tables, name) for name in columns})


def _join_columns(tables: Sequence[Table], name: str) -> Any:
    if name not in TEXT_COLUMNS:
        return np.concatenate([table.columns[name][table.places] for table in tables])
    texts = [table.text(name) for table in tables]
    codes = {
        name: code for code, name in enumerate(dict.fromkeys(n for t in texts for n in t.names))
    }
    return Text(
        np.concatenate(
            [np.array([codes[n] for n in text.names], np.int32)[text.codes] for text in texts]
        ),
        tuple(codes),
    )


def expand_by_accelerator(samples: Table, values: Mapping[str, float]) -> Floats:
    """Return for each sample the value of its accelerator, shape (n,), NaN if it has none."""
    accelerators = samples.text("accelerator")
    by_code = np.array([values.get(name, np.nan) for name in accelerators.names], dtype=np.float64)
    return by_code[accelerators.codes]


def format_rows(table: Table, selection: Rows) -> str:
    """Return the first and the last selected row of the table as `rows 12-40`. Rows of a file count
    from 1."""
    places = table.places[selection]
    first, last = int(places.min()) + 1, int(places.max()) + 1
    return f"row {first}" if first == last else f"rows {first}-{last}"


def find_offenders(samples: Table, wrong: Mask) -> Iterator[tuple[str, str, int]]:
    """For each accelerator with samples for which `wrong`, shape (n,), holds: its name, the rows of
    these samples, and their number."""
    if not wrong.any():
        return
    rows = np.flatnonzero(wrong)
    accelerators = samples.text("accelerator")
    codes = accelerators.codes[rows]
    # One stable sort and not a mask for each accelerator, of which there may be a thousand.
    order = np.argsort(codes, kind="stable")
    groups = np.split(rows[order], np.flatnonzero(np.diff(codes[order])) + 1)
    # The rows of a group rise, so this is the order of the file.
    for group in sorted(groups, key=lambda group: int(group[0])):
        name = accelerators.names[accelerators.codes[group[0]]]
        yield name, format_rows(samples, group), len(group)
