"""Reads the tables of a bundle: with pyarrow, which is fast, and cell by cell if a table is
malformed and the message must name the row.

docs/bundle-format.md has the grammar. There is one way to write a row, so that all readers read the
same values.
"""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from rules.bundle_format.counts import check_table, check_texts
from rules.bundle_format.files import Refused, build_refusal, build_size_refusal, shorten
from rules.bundle_format.records import (
    NO_STAMP,
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    RUN,
    STAMP_COLUMNS,
    TEXT_COLUMNS,
    BundleKind,
)
from rules.bundle_format.table import Table, Text
from rules.finding import Problem
from rules.rule_ids import TABLE_MALFORMED

_MAX_TEXT_LENGTH = 4_096
"""Characters of a text in a table, the same as in the JSON files."""
_MAX_LINE_BYTES = 2**18
"""Bytes of a line, more than those of four texts of the largest length."""
_PIECE_BYTES = 2**16
"""Line breaks are counted in pieces of so many bytes."""
_MAX_SLOW_ROWS = 50_000
"""How many rows the slow reader looks at. It takes a second for them."""
_MAX_NUMBER = 2**53
"""The largest whole number up to which a double represents every whole number exactly."""
_MAX_OFFENCES = 5
_MAX_CYCLE = 64
"""`_decode_cycle` looks for at most this many texts in the repeated order."""
_UNPORTABLE_MARK = re.compile(rb"[ \t](?=[,\n])|(?<=[,\n])[ \t]|0[xX]")
_QUOTED = re.compile(rb'(?<=[,\n])"(?:[^"\n]|"")*"(?=[,\n])')
_NEEDS_QUOTES = re.compile(rb'[,"]')
_UNPORTABLE = {
    b" ": (b" ,", b", ", b" \n", b"\n "),
    b"\t": (b"\t,", b",\t", b"\t\n", b"\n\t"),
    b"x": (b"0x",),
    b"X": (b"0X",),
}
"""Parts of text that pyarrow accepts in a number and other readers do not, by the character that
they contain. The search for one character comes first, because it is faster.
`_UNPORTABLE_MARK` finds the same."""
_NOT_NEGATIVE = (REQUIRED_COLUMNS | STAMP_COLUMNS) - TEXT_COLUMNS


class _InvalidTable(Exception):
    """The table has a violation in some row."""


def read_table(name: str, text: bytes, kind: BundleKind = RUN) -> Table:
    """Read the CSV `text` of the file `name` of a bundle of this kind. Required columns of numbers
    become int64, others float64.

    Raises Refused, with the number of the row if it is known.
    """
    columns = kind.tables[name]
    # A row ends with a line break, so a shorter text cannot have too many rows.
    if len(text) > kind.max_rows and (rows := _count_rows(text)) > kind.max_rows:
        raise build_size_refusal(name, f"{rows} rows", f"at most {kind.max_rows} rows")
    _check_line_lengths(name, text)
    if not text.endswith(b"\n"):
        # A table that was cut inside its last number would read as a whole one.
        raise build_table_refusal(name, "", "no line break at the end", "one after every line")
    header = text[: text.find(b"\n")].decode()
    if header == ",".join(all_columns := columns + OPTIONAL_COLUMNS.get(name, ())):
        columns = all_columns
    elif header != ",".join(columns):
        raise build_table_refusal(
            name, "", f"the header {shorten(header)}", f"the header {','.join(columns)}"
        )
    try:
        if any(
            mark in text for sign, marks in _UNPORTABLE.items() if sign in text for mark in marks
        ):
            _check_marked_rows(text, columns)
        _check_leading_zeros(_remove_quoted_texts(text), columns)
        table = _parse(name, text, columns)
    except (ValueError, OverflowError, _InvalidTable) as error:
        # The slow reader runs only now: it can name the row, and pyarrow cannot.
        offences = list(islice(_find_offences(name, text, columns), _MAX_OFFENCES))
        # pyarrow refuses what the slow reader accepts, or the offence is further down. The table is
        # still refused, without a row.
        if not offences:
            raise build_table_refusal(
                name, "", shorten(str(error)), "rows of the columns in the header"
            ) from None
        raise Refused(*offences) from None
    check_table(name, table)
    return table


def _count_rows(text: bytes) -> int:
    """The number of line breaks, except one at the end."""
    characters = np.frombuffer(text, np.uint8)
    # `bytes.count` takes five times as long, and a mask of the whole text fills new memory.
    breaks = sum(
        np.count_nonzero(characters[begin : begin + _PIECE_BYTES] == ord("\n"))
        for begin in range(0, len(text), _PIECE_BYTES)
    )
    return int(breaks) - text.endswith(b"\n")


def _check_line_lengths(name: str, text: bytes) -> None:
    """Raises Refused for a line of more cells or longer texts than any row has."""
    begin = 0
    while len(text) - begin > _MAX_LINE_BYTES:
        # From the end of as many bytes as a line may have: all lines before it are shorter.
        line_break = text.rfind(b"\n", begin, begin + _MAX_LINE_BYTES)
        if line_break < 0:
            length = len(text[begin:].partition(b"\n")[0])
            raise build_size_refusal(
                name, f"a line of {length} bytes", f"at most {_MAX_LINE_BYTES} bytes"
            )
        begin = line_break + 1


def _parse(name: str, text: bytes, columns: tuple[str, ...]) -> Table:
    if b"\r" in text or b"\0" in text:
        raise _InvalidTable("rows that are not one line each")
    types = {c: pa.string() if c in TEXT_COLUMNS else pa.int64() for c in columns}
    # Only an empty cell is missing; `nan` or `NA` spelled out is text where a number belongs.
    # One thread and one block: bundles are judged in parallel, and each column is then one array.
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_csv.ParseOptions(ignore_empty_lines=False),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=False
        ),
    )
    # The text was one block, so each column is one chunk.
    arrays = {c: table[c].chunk(0) for c in columns}
    return Table.of(
        {
            c: _decode_text(name, arrays[c], c)
            if c in TEXT_COLUMNS
            else _decode_numbers(arrays[c], c)
            for c in columns
        }
    )


def _check_marked_rows(text: bytes, columns: tuple[str, ...]) -> None:
    """Raises _InvalidTable if a row has text that pyarrow accepts in a number and other readers do
    not."""
    position = text.find(b"\n")
    for _ in range(_MAX_SLOW_ROWS):
        mark = _UNPORTABLE_MARK.search(text, position)
        if mark is None:
            return
        begin = text.rfind(b"\n", 0, mark.start()) + 1
        position = text.find(b"\n", mark.start())
        try:
            # The row alone: a cell that goes on in the next row is an offence.
            (cells,) = csv.reader([text[begin:position].decode()], strict=True)
        except (csv.Error, ValueError) as error:
            raise _InvalidTable(str(error)) from None
        if len(cells) != len(columns) or any(map(_describe_expected, columns, cells)):
            raise _InvalidTable("numbers that are not decimal digits alone")
    raise _InvalidTable(f"more than {_MAX_SLOW_ROWS} rows with blanks or 0x")


def _encode_row(cells: list[str]) -> bytes:
    """The one way to write a row: quoted are texts with a comma or a quotation mark."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue().encode()


def _remove_quoted_texts(text: bytes) -> bytes:
    """The table with empty cells in place of quoted ones, so that each comma is between two cells.
    Raises _InvalidTable for a cell that is quoted without need, such as a number."""
    if b'"' not in text:
        return text
    for cell in {*_QUOTED.findall(text)}:
        if not _NEEDS_QUOTES.search(cell[1:-1]):
            raise _InvalidTable("cells that are quoted without need")
    bare = _QUOTED.sub(b"", text)
    if b'"' in bare:
        raise _InvalidTable("quotation marks in cells that are not quoted")
    return bare


def _check_leading_zeros(text: bytes, columns: tuple[str, ...]) -> None:
    """Raises _InvalidTable for a number such as 007, -0 or -07, which pyarrow accepts."""
    characters = np.frombuffer(text, np.uint8)
    if not any(
        _begin_with_zero(*(characters[begin + i : begin + i + _PIECE_BYTES] for i in range(3)))
        for begin in range(0, len(text), _PIECE_BYTES)
    ):
        return  # Finding the separators to know the columns takes four times as long.
    separators = np.flatnonzero(_are_separators(characters))
    # Of cells up to the last separator; a row of another length is found later.
    begins = separators[:-1] + 1
    is_number = np.array([column not in TEXT_COLUMNS for column in columns])
    begins = begins[is_number[np.arange(1, len(begins) + 1) % len(columns)]]
    begins = begins[begins < len(characters) - 1]
    if _begin_with_zero(*(characters[begins + i] for i in (-1, 0, 1))):
        raise _InvalidTable("numbers with a leading zero")


def _are_separators(characters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    separators: NDArray[np.bool_] = (characters == ord(",")) | (characters == ord("\n"))
    return separators


def _begin_with_zero(
    before: NDArray[np.uint8], first: NDArray[np.uint8], second: NDArray[np.uint8]
) -> bool:
    """Whether a cell begins with a zero before a digit, or with -0. Successive characters, of shape
    (n,) each; at the end of a text, `first` and `second` may be shorter."""
    before, first = before[: len(second)], first[: len(second)]
    # The difference of unsigned integers wraps, so other characters than digits are above 9.
    zeros = (first == ord("0")) & (second - np.uint8(ord("0")) <= 9)
    zeros |= (first == ord("-")) & (second == ord("0"))
    return bool((zeros & _are_separators(before)).any())


def _decode_text(name: str, array: "pa.StringArray", column: str) -> Text:
    """Return a column of text. Raises _InvalidTable, and Refused if it has too many texts."""
    text = _decode_cycle(array)
    if text is None:
        encoded = array.dictionary_encode()
        check_texts(name, column, len(encoded.dictionary))
        text = Text(
            _view_integers(encoded.indices, np.int32), tuple(encoded.dictionary.to_pylist())
        )
    if (longest := max(map(len, text.names), default=0)) > _MAX_TEXT_LENGTH:
        raise build_size_refusal(
            name,
            f"a text of {longest} characters in {column}",
            f"at most {_MAX_TEXT_LENGTH} characters",
        )
    if column in REQUIRED_COLUMNS and "" in text.names:
        raise _InvalidTable(f"empty cells in {column}")
    return text


def _decode_cycle(array: "pa.StringArray") -> Text | None:
    """A column that repeats a few texts of one length in a fixed order, such as the UUIDs of the
    accelerators. None if it does not. Most columns do, and this check takes a quarter of the time
    of dictionary encoding."""
    if not len(array):
        return None
    _, offsets, buffer = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(array) + 1]
    length = int(ends[1])
    if ends[0] or (np.diff(ends) != length).any():
        return None
    longest = min(len(array), _MAX_CYCLE)
    first_rows = buffer[: longest * length].to_pybytes()
    cycle = next(
        (
            row
            for row in range(1, longest)
            if first_rows.startswith(first_rows[:length], row * length)
        ),
        longest,
    )
    names = tuple(array[row].as_py() for row in range(cycle))
    letters = np.frombuffer(buffer, np.uint8)[: ends[-1]]
    if len(set(names)) < cycle or not np.array_equal(
        letters[cycle * length :], letters[: len(letters) - cycle * length]
    ):
        return None
    return Text(
        np.tile(np.arange(cycle, dtype=np.int32), len(array) // cycle + 1)[: len(array)], names
    )


def _decode_numbers(array: "pa.Int64Array", column: str) -> NDArray[Any]:
    """Return a column as int64 if it may not have empty cells or holds stamps, otherwise as
    float64. Raises _InvalidTable."""
    values = _view_integers(array, np.int64)
    if column in REQUIRED_COLUMNS:
        if array.null_count:
            raise _InvalidTable(f"empty cells in {column}")
        if values.min(initial=0) < 0:
            raise _InvalidTable(f"negative numbers in {column}")
        return values
    if column in STAMP_COLUMNS:
        return _decode_stamps(array, values, column)
    present, numbers = values, values.astype(np.float64)
    if array.null_count:
        valid = _find_present(array)
        present, numbers = values[valid], np.where(valid, numbers, np.nan)
    if max(-int(present.min(initial=0)), int(present.max(initial=0))) > _MAX_NUMBER:
        raise _InvalidTable(f"numbers in {column} that are out of range")
    return numbers


def _decode_stamps(array: "pa.Int64Array", values: NDArray[Any], column: str) -> NDArray[Any]:
    """Return a column of stamps as int64, `NO_STAMP` for an empty cell. Raises _InvalidTable."""
    valid = _find_present(array) if array.null_count else np.ones(len(array), dtype=bool)
    if values[valid].min(initial=0) < 0:
        raise _InvalidTable(f"negative numbers in {column}")
    return np.where(valid, values, NO_STAMP)


def _find_present(array: "pa.Int64Array") -> NDArray[np.bool_]:
    """Return the mask of the cells that are not empty; the array has an empty one."""
    # Arrow marks present values by one bit each, the lowest bit first.
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    return np.unpackbits(bits, count=len(array), bitorder="little").astype(bool)


def _view_integers(array: "pa.Array", dtype: type) -> NDArray[Any]:
    """The whole numbers of an array; the value of an empty cell is undefined. The conversion of
    pyarrow itself loads pandas, which takes as long as judging ten bundles."""
    return np.frombuffer(array.buffers()[1], dtype, len(array))


def _find_offences(name: str, text: bytes, columns: tuple[str, ...]) -> Iterator[Problem]:
    """The violations in the first rows of a table, row by row. Data rows count from 1."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(text), "utf-8", newline=""), strict=True)
    next(reader)
    lines = io.BytesIO(text)
    lines.readline()
    row = 0
    try:
        for row, cells in enumerate(islice(reader, _MAX_SLOW_ROWS), 1):
            place = f"row {row}"
            # A quoted cell with a line break shifts all later rows, so nothing more can be located.
            if reader.line_num != row + 1:
                yield from build_table_refusal(
                    name, place, "a line break inside a cell", "one line for each row"
                ).problems
                return
            if len(cells) != len(columns):
                lines.readline()
                yield from build_table_refusal(
                    name, place, f"{len(cells)} cells", f"{len(columns)} cells"
                ).problems
                continue
            for column, cell in zip(columns, cells, strict=True):
                expected = _describe_expected(column, cell)
                if expected:
                    yield from build_table_refusal(
                        name, place, f"{column} {shorten(cell)}", expected
                    ).problems
            if _encode_row(cells) != (line := lines.readline().rstrip(b"\n")):
                expected = "quotation marks only around a text with a comma or a quotation mark"
                yield from build_table_refusal(
                    name, place, shorten(line.decode()), expected
                ).problems
    except csv.Error as error:
        yield from build_table_refusal(
            name, f"row {row + 1}", str(error), "one line of comma-separated cells"
        ).problems


def _describe_expected(column: str, cell: str) -> str | None:
    """What is expected instead of `cell`; None if the cell is valid."""
    if not cell:
        return "a value" if column in REQUIRED_COLUMNS else None
    if column in TEXT_COLUMNS:
        return None if not {"\r", "\0"} & set(cell) else "one line of text"
    digits = cell.removeprefix("-") if column not in _NOT_NEGATIVE else cell
    # Required columns and stamps stay int64. Others become doubles, because an empty cell is NaN.
    limit = 2**63 - 1 if column in REQUIRED_COLUMNS | STAMP_COLUMNS else _MAX_NUMBER
    # `isdigit` alone accepts digits of other scripts. The length is checked before `int`, which is
    # slow for long texts.
    is_plain = digits == "0" == cell or not digits.startswith("0")
    if (
        is_plain
        and digits.isascii()
        and digits.isdigit()
        and len(digits) < 20
        and int(digits) <= limit
    ):
        return None
    sign = "a whole number without leading zeros"
    if column in _NOT_NEGATIVE:
        sign += " that is not negative"
    if column not in REQUIRED_COLUMNS:
        sign += " or nothing"
    return f"{sign}, at most {limit}"


def build_table_refusal(name: str, place: str, found: str, expected: str) -> Refused:
    """Return the exception for a table that is not as its kind of bundle has it."""
    message = "The table was cut or edited. Restore the original from the machine of the run."
    return build_refusal(TABLE_MALFORMED, name, place, found, expected, message)
