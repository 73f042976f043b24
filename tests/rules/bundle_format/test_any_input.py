"""Whatever bytes come, the readers of JSON and tables answer or refuse."""

import csv
import json
import re
from typing import Any

import numpy as np
import pytest
from conftest import Submissions
from hypothesis import given
from hypothesis import strategies as st

from rules.bundle_format import csv_table as tables
from rules.bundle_format.documents import read_document, read_json
from rules.bundle_format.files import Refused
from rules.bundle_format.records import BATCH_COLUMNS, SAMPLE_COLUMNS, SYSTEM_FORMAT


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_as_json(raw: bytes) -> None:
    for read in (lambda: read_json("x", raw), lambda: read_document("x", raw, SYSTEM_FORMAT)):
        try:
            read()
        except Refused as refusal:
            assert refusal.problems


@given(st.text(alphabet='0123456789,\n-."e \r\0nan\x85\u2028') | st.text())
def test_any_text_as_table(body: str) -> None:
    text = (",".join(BATCH_COLUMNS) + "\n" + body).encode(errors="replace")
    try:
        table = tables.read_table("batches.csv.gz", text)
    except Refused as refusal:
        assert refusal.problems
    else:
        rows = list(csv.reader(body.removesuffix("\n").split("\n"))) if body else []
        read = np.array([table.ints(column) for column in BATCH_COLUMNS])
        assert read.T.tolist() == [[int(cell) for cell in row] for row in rows]


# How a number may be written, and how other readers might take it for one.
CELLS = [
    *("5", "007", "-3", "x", "9223372036854775807", "9223372036854775808"),
    *("99999999999999999999", "9007199254740993", '"5"', ""),
]
CELLS += [
    *(" 5", "5 ", "\t5", "0x1f", "0X1F", "+5", "1_0", "1.0", "1e3", "nan", "NA"),
    *("null", "\u0665", '" 5"', '"0x1"', "5 000", "0", "00", "-0", "-07", "0.0"),
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("column", ["scheduled_ns", "power_mw", "slowdown"])
@pytest.mark.parametrize("node_name", ["", "0x at xenia, and elsewhere"])
def test_number_is_digits_and_nothing_else(cell: str, column: str, node_name: str) -> None:
    # Only a text with a comma is quoted.
    node = f'"{node_name}"' if node_name else "n"
    row = dict.fromkeys(SAMPLE_COLUMNS, "7") | {"node": node, "status": "ok"}
    text = "".join(
        ",".join(row.values()) + "\n"
        for row in (
            dict(zip(SAMPLE_COLUMNS, SAMPLE_COLUMNS, strict=True)),
            row,
            row | {column: cell},
        )
    ).encode()
    required = column == "scheduled_ns"
    limit = 2**63 - 1 if required else 2**53
    number = re.fullmatch(r"0|(-?)([1-9][0-9]*)", cell)
    is_number = number and int(number[2] or 0) <= limit and not (required and number[1])
    if is_number or (not cell and not required):
        value = tables.read_table("samples.csv.gz", text).floats(column)[1]
        assert value == float(cell) if cell else np.isnan(value)
    else:
        with pytest.raises(Refused) as caught:
            tables.read_table("samples.csv.gz", text)
        assert caught.value.problems[0].violation.pointer == "row 2"


@pytest.mark.parametrize(
    ("name", "key", "value", "expected"),
    [
        ("environment.json", "git", 7, "an object with the keys commit, dirty or null"),
        (
            "result.json",
            "headline",
            {"mfu": 7},
            "an object with the keys ci95, mean, n, sd or null",
        ),
    ],
)
def test_one_of_several_shapes_is_asked_for_in_words(
    submissions: Submissions, name: str, key: str, value: Any, expected: str
) -> None:
    path = submissions.add() / name
    stated = json.loads(path.read_text())
    stated[key] = {**stated[key], **value} if isinstance(value, dict) else value
    with pytest.raises(Refused) as refusal:
        read_document(name, json.dumps(stated).encode(), stated["format"])
    assert expected in {problem.violation.expected for problem in refusal.value.problems}
