"""Reads the tables of a bundle: fast where they are in order, cell by cell where something must be pointed at."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from checker.files import Refused, refused, shortened, too_large
from rules.records import BATCH_COLUMNS, REQUEST_COLUMNS, REQUESTS_FILE, REQUIRED_COLUMNS, SAMPLE_COLUMNS, TEXT_COLUMNS
from rules.rule import Problem

COLUMNS = {"samples.csv.gz": SAMPLE_COLUMNS, "batches.csv.gz": BATCH_COLUMNS, REQUESTS_FILE: REQUEST_COLUMNS}
MAX_ROWS = 4_000_000
_MAX_NUMBER = 2**53
"""Largest number whose neighbours a double still tells apart."""
_SHOWN = 5
_NOT_NEGATIVE = REQUIRED_COLUMNS - TEXT_COLUMNS


class _NotClean(Exception):
    """The table has an offence somewhere."""


def read_table(name: str, text: bytes) -> pd.DataFrame:
    """The table in the CSV `text` of the file `name`, with the types that `rules.records.Evidence` states.

    Raises Refused, with the number of the row where one can be told.
    """
    columns = COLUMNS[name]
    rows = text.count(b"\n") - (1 if text.endswith(b"\n") else 0)
    if rows > MAX_ROWS:
        raise too_large(name, f"{rows} rows", f"at most {MAX_ROWS} rows")
    header = text[: text.find(b"\n")].decode() if rows > 0 else text.decode().rstrip("\n")
    if header != ",".join(columns):
        raise _malformed(name, "", f"the header {shortened(header)}", f"the header {','.join(columns)}")
    try:
        return _fast(text, columns, rows)
    except (ValueError, OverflowError, _NotClean) as error:
        offences = list(islice(_offences(name, text, columns), _SHOWN))
        if not offences:
            raise _malformed(name, "", shortened(str(error)), "rows of the columns in the header") from None
        raise Refused(*offences) from None


def _fast(text: bytes, columns: tuple[str, ...], rows: int) -> pd.DataFrame:
    if b"\r" in text or b"\0" in text:
        raise _NotClean("rows that are not one line each")
    optional = {c for c in columns if c not in REQUIRED_COLUMNS and c not in TEXT_COLUMNS}
    first = text.split(b"\n", 2)[1].split(b",") if rows else []
    try:
        # Mostly a column has a value in each row or in none, and whole numbers are read faster than doubles.
        table = _parsed(text, columns, {c for c, cell in zip(columns, first, strict=False) if not cell} & optional)
    except (ValueError, OverflowError):
        table = _parsed(text, columns, optional)
    # pandas takes surplus cells for an index, and a line break inside quotes for part of a cell.
    if not isinstance(table.index, pd.RangeIndex) or len(table) != rows:
        raise _NotClean("rows that are not one line each, with one cell for each column")
    made = {c: table[c] if c in TEXT_COLUMNS else _whole(table[c].to_numpy(), c) for c in columns}
    for column in TEXT_COLUMNS & REQUIRED_COLUMNS & made.keys():
        if bool((table[column].to_numpy() == "").any()):
            raise _NotClean(f"empty cells in {column}")
    # Numbers of one type together are selected several times as fast as column by column.
    return pd.DataFrame(made, copy=True)


def _parsed(text: bytes, columns: tuple[str, ...], with_gaps: set[str]) -> pd.DataFrame:
    """The table as pandas reads it, the numbers as int64, those of the columns `with_gaps` as float64."""
    types = {c: "str" if c in TEXT_COLUMNS else "float64" if c in with_gaps else "int64" for c in columns}
    # Only an empty cell is missing; `nan` or `NA` spelled out is text where a number belongs.
    return pd.read_csv(
        io.BytesIO(text),
        dtype=types,
        keep_default_na=False,
        na_filter=bool(with_gaps),
        na_values={c: [""] for c in with_gaps},
        skip_blank_lines=False,
        low_memory=False,
    )


def _whole(values: NDArray[Any], column: str) -> NDArray[Any]:
    """The numbers of a column with the type that the evidence has for it. Raises _NotClean."""
    required = column in REQUIRED_COLUMNS
    if not len(values):
        return values.astype(np.int64 if required else np.float64)
    if values.dtype == np.float64:
        with np.errstate(invalid="ignore"):
            wrong = np.isinf(values) | (values != np.floor(values)) & ~np.isnan(values) | (np.abs(values) > _MAX_NUMBER)
        if bool(wrong.any()):
            raise _NotClean(f"numbers in {column} that are not whole or out of range")
        return values
    least, most = int(values.min()), int(values.max())
    if required:
        if least < 0:
            raise _NotClean(f"negative numbers in {column}")
        return values
    if max(-least, most) > _MAX_NUMBER:
        raise _NotClean(f"numbers in {column} that are out of range")
    return values.astype(np.float64)


def _offences(name: str, text: bytes, columns: tuple[str, ...]) -> Iterator[Problem]:
    """What is wrong, row by row; data rows are counted from 1."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(text), "utf-8", newline=""), strict=True)
    next(reader)
    row = 0
    try:
        for row, cells in enumerate(reader, 1):
            place = f"row {row}"
            if reader.line_num != row + 1:
                yield from _malformed(name, place, "a line break inside a cell", "one line for each row").problems
                return
            if len(cells) != len(columns):
                yield from _malformed(name, place, f"{len(cells)} cells", f"{len(columns)} cells").problems
                continue
            for column, cell in zip(columns, cells, strict=True):
                expected = _expected(column, cell)
                if expected:
                    yield from _malformed(name, place, f"{column} {shortened(cell)}", expected).problems
    except csv.Error as error:
        yield from _malformed(name, f"row {row + 1}", str(error), "one line of comma-separated cells").problems


def _expected(column: str, cell: str) -> str | None:
    """What should stand there instead of `cell`; None where it is as it should be."""
    if not cell:
        return "a value" if column in REQUIRED_COLUMNS else None
    if column in TEXT_COLUMNS:
        return None if not {"\r", "\0"} & set(cell) else "one line of text"
    digits = cell.removeprefix("-") if column not in _NOT_NEGATIVE else cell
    limit = 2**63 - 1 if column in REQUIRED_COLUMNS else _MAX_NUMBER
    if digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= limit:
        return None
    sign = "a whole number that is not negative" if column in _NOT_NEGATIVE else "a whole number or nothing"
    return f"{sign}, at most {limit}"


def _malformed(name: str, place: str, found: str, expected: str) -> Refused:
    message = "The table was cut or edited. Restore it from where the run was made."
    return refused("S109", name, place, found, expected, message)
