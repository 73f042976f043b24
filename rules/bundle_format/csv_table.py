"""Reads the tables of a bundle: with pyarrow, which is fast, and cell by cell if a table is
malformed and the message must name the row."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from rules.bundle_format.files import Refused, refused, shortened, too_large
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    REQUEST_COLUMNS,
    REQUESTS_FILE,
    REQUIRED_COLUMNS,
    SAMPLE_COLUMNS,
    TEXT_COLUMNS,
)
from rules.bundle_format.table import Table, Text
from rules.finding import Problem
from rules.rule_ids import TABLE_MALFORMED

COLUMNS = {
    "samples.csv.gz": SAMPLE_COLUMNS,
    "batches.csv.gz": BATCH_COLUMNS,
    REQUESTS_FILE: REQUEST_COLUMNS,
}
MAX_ROWS = 4_000_000
_MAX_NUMBER = 2**53
"""The largest whole number up to which a double represents every whole number exactly."""
_SHOWN = 5
_MOST_IN_TURN = 64
"""`_in_turns` looks for at most this many texts in the repeated order."""
_ODD = {
    b" ": (b" ,", b", ", b" \n", b"\n "),
    b"\t": (b"\t,", b",\t", b"\t\n", b"\n\t"),
    b'"': (b'"',),
    b"x": (b"0x",),
    b"X": (b"0X",),
}
"""Parts of text that pyarrow accepts in a number and other readers do not, by the character that
they contain. The search for one character comes first, because it is faster."""
_NOT_NEGATIVE = REQUIRED_COLUMNS - TEXT_COLUMNS


class _NotClean(Exception):
    """The table has a violation in some row."""


def read_table(name: str, text: bytes) -> Table:
    """Read the CSV `text` of the file `name`. Required columns of numbers become int64, others
    float64.

    Raises Refused, with the number of the row if it is known.
    """
    columns = COLUMNS[name]
    # A row ends with a line break, so a shorter text cannot have too many rows.
    if len(text) > MAX_ROWS and (rows := text.count(b"\n") - text.endswith(b"\n")) > MAX_ROWS:
        raise too_large(name, f"{rows} rows", f"at most {MAX_ROWS} rows")
    if not text.endswith(b"\n"):
        # The code below expects a line break after every line, also after the header.
        text += b"\n"
    header = text[: text.find(b"\n")].decode()
    if header != ",".join(columns):
        raise _malformed(
            name, "", f"the header {shortened(header)}", f"the header {','.join(columns)}"
        )
    try:
        if any(
            mark in text for sign, marks in _ODD.items() if sign in text for mark in marks
        ) and _is_odd(name, text, columns):
            raise _NotClean("numbers that are not decimal digits alone")
        return _fast(text, columns)
    except (ValueError, OverflowError, _NotClean) as error:
        # The slow reader runs only now: it can name the row, and pyarrow cannot.
        offences = list(islice(_offences(name, text, columns), _SHOWN))
        # pyarrow refuses what the slow reader accepts. The table is still refused, without a row.
        if not offences:
            raise _malformed(
                name, "", shortened(str(error)), "rows of the columns in the header"
            ) from None
        raise Refused(*offences) from None


def _fast(text: bytes, columns: tuple[str, ...]) -> Table:
    if b"\r" in text or b"\0" in text:
        raise _NotClean("rows that are not one line each")
    kinds = {c: pa.string() if c in TEXT_COLUMNS else pa.int64() for c in columns}
    # Only an empty cell is missing; `nan` or `NA` spelled out is text where a number belongs.
    # One thread and one block: bundles are judged in parallel, and each column is then one array.
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_csv.ParseOptions(ignore_empty_lines=False),
        convert_options=arrow_csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=False
        ),
    )
    # The text was one block, so each column is one chunk.
    read = {c: table[c].chunk(0) for c in columns}
    return Table.of(
        {c: _words(read[c], c) if c in TEXT_COLUMNS else _numbers(read[c], c) for c in columns}
    )


def _is_odd(name: str, text: bytes, columns: tuple[str, ...]) -> bool:
    return next(_offences(name, text, columns), None) is not None


def _words(read: "pa.StringArray", column: str) -> Text:
    """A column of text. Raises _NotClean."""
    found = _in_turns(read)
    if found is None:
        encoded = read.dictionary_encode()
        found = Text(_whole(encoded.indices, np.int32), tuple(encoded.dictionary.to_pylist()))
    if column in REQUIRED_COLUMNS and "" in found.names:
        raise _NotClean(f"empty cells in {column}")
    return found


def _in_turns(read: "pa.StringArray") -> Text | None:
    """A column that repeats a few texts of one length in a fixed order, such as the UUIDs of the
    accelerators. None if it does not. Most columns do, and this check takes a quarter of the time
    of dictionary encoding."""
    if not len(read):
        return None
    _, offsets, buffer = read.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(read) + 1]
    length = int(ends[1])
    if ends[0] or (np.diff(ends) != length).any():
        return None
    most = min(len(read), _MOST_IN_TURN)
    begin = buffer[: most * length].to_pybytes()
    turn = next(
        (at for at in range(1, most) if begin.startswith(begin[:length], at * length)), most
    )
    names = tuple(read[at].as_py() for at in range(turn))
    letters = np.frombuffer(buffer, np.uint8)[: ends[-1]]
    if len(set(names)) < turn or not np.array_equal(
        letters[turn * length :], letters[: len(letters) - turn * length]
    ):
        return None
    return Text(np.tile(np.arange(turn, dtype=np.int32), len(read) // turn + 1)[: len(read)], names)


def _numbers(read: "pa.Int64Array", column: str) -> NDArray[Any]:
    """The numbers of a column with the type that the evidence has for it. Raises _NotClean."""
    values = _whole(read, np.int64)
    if column in REQUIRED_COLUMNS:
        if read.null_count:
            raise _NotClean(f"empty cells in {column}")
        if values.min(initial=0) < 0:
            raise _NotClean(f"negative numbers in {column}")
        return values
    given, numbers = values, values.astype(np.float64)
    if read.null_count:
        # Arrow marks present values by one bit each, the lowest bit first.
        there = np.unpackbits(
            np.frombuffer(read.buffers()[0], np.uint8), count=len(read), bitorder="little"
        ).astype(bool)
        given, numbers = values[there], np.where(there, numbers, np.nan)
    if max(-int(given.min(initial=0)), int(given.max(initial=0))) > _MAX_NUMBER:
        raise _NotClean(f"numbers in {column} that are out of range")
    return numbers


def _whole(read: "pa.Array", kind: type) -> NDArray[Any]:
    """The whole numbers of an array; the value of an empty cell is undefined. The conversion of
    pyarrow itself loads pandas, which takes as long as judging ten bundles."""
    return np.frombuffer(read.buffers()[1], kind, len(read))


def _offences(name: str, text: bytes, columns: tuple[str, ...]) -> Iterator[Problem]:
    """The violations of a table, row by row. Data rows count from 1."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(text), "utf-8", newline=""), strict=True)
    next(reader)
    row = 0
    try:
        for row, cells in enumerate(reader, 1):
            place = f"row {row}"
            # A quoted cell with a line break shifts all later rows, so nothing more can be located.
            if reader.line_num != row + 1:
                yield from _malformed(
                    name, place, "a line break inside a cell", "one line for each row"
                ).problems
                return
            if len(cells) != len(columns):
                yield from _malformed(
                    name, place, f"{len(cells)} cells", f"{len(columns)} cells"
                ).problems
                continue
            for column, cell in zip(columns, cells, strict=True):
                expected = _expected(column, cell)
                if expected:
                    yield from _malformed(
                        name, place, f"{column} {shortened(cell)}", expected
                    ).problems
    except csv.Error as error:
        yield from _malformed(
            name, f"row {row + 1}", str(error), "one line of comma-separated cells"
        ).problems


def _expected(column: str, cell: str) -> str | None:
    """What is expected instead of `cell`; None if the cell is valid."""
    if not cell:
        return "a value" if column in REQUIRED_COLUMNS else None
    if column in TEXT_COLUMNS:
        return None if not {"\r", "\0"} & set(cell) else "one line of text"
    digits = cell.removeprefix("-") if column not in _NOT_NEGATIVE else cell
    # Required columns stay int64. Others become doubles, because an empty cell is NaN.
    limit = 2**63 - 1 if column in REQUIRED_COLUMNS else _MAX_NUMBER
    # `isdigit` alone accepts digits of other scripts. The length is checked before `int`, which is
    # slow for long texts.
    if digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= limit:
        return None
    sign = (
        "a whole number that is not negative"
        if column in _NOT_NEGATIVE
        else "a whole number or nothing"
    )
    return f"{sign}, at most {limit}"


def _malformed(name: str, place: str, found: str, expected: str) -> Refused:
    message = "The table was cut or edited. Restore it from where the run was made."
    return refused(TABLE_MALFORMED, name, place, found, expected, message)
