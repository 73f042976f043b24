"""Records become JSON and come back; a document of another form is refused with its place."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rules.json_record import RecordError, from_json, to_json


@dataclass(frozen=True, slots=True)
class Board:
    uuid: str
    power_w: float | None
    clocks_mhz: tuple[int, ...] = ()


@dataclass(frozen=True)
class Record:
    boards: tuple[Board, ...]
    range_w: tuple[float, float] | None
    by_name: Mapping[str, Board]
    settings: Mapping[str, str | float | bool | None]
    started_at: datetime
    corpus: Path | None
    extra: dict[str, Any]
    count: int = 3


@dataclass(frozen=True)
class Part:
    pointer: str
    name: str | None


@dataclass(frozen=True)
class Declared:
    pointer: str
    name: str | None
    parts: tuple[Part, ...] | None = None


BOARD = Board("GPU-1", 1.5, (1980, 210))
RECORD = Record(
    boards=(BOARD, Board("GPU-2", None)),
    range_w=(1.0, 2.0),
    by_name={"a/b~c": BOARD},
    settings={"compiled": True, "level": 2, "note": None},
    started_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    corpus=Path("/data/corpus"),
    extra={"list": [1, {"x": None}]},
)


@pytest.mark.parametrize("record", [RECORD, replace(RECORD, range_w=None, corpus=None)])
def test_what_was_written_is_read_back(record: Record) -> None:
    document = json.loads(json.dumps(to_json(record)))
    assert from_json(Record, document) == record
    assert list(document) == list(asdict(record))


def test_json_of_plain_values_is_that_of_asdict() -> None:
    assert json.dumps(to_json(BOARD)) == json.dumps(asdict(BOARD))


def test_absent_keys_have_their_defaults() -> None:
    assert from_json(Board, {"uuid": "GPU-1", "power_w": 3}) == Board("GPU-1", 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boards": {}}, "/boards is {}, expected a list"),
        ({"boards": [[]]}, "/boards/0 is [], expected an object"),
        ({"boards": [{"uuid": 1, "power_w": 2}]}, "/boards/0/uuid is 1, expected str"),
        ({"boards": [{"uuid": "x"}]}, "/boards/0/power_w is absent, expected a value"),
        (
            {"boards": [{"uuid": "x", "power_w": True}]},
            "/boards/0/power_w is True, expected float",
        ),
        ({"range_w": [1.0]}, "/range_w is a list of 1, expected one of 2"),
        ({"by_name": {"a/b~c": 1}}, "/by_name/a~1b~0c is 1, expected an object"),
        ({"settings": {"x": [1]}}, "/settings/x is [1], expected str or float or bool"),
        ({"started_at": "today"}, "/started_at is 'today', expected a time in ISO 8601"),
        ({"corpus": 1}, "/corpus is 1, expected text"),
        ({"extra": None}, "/extra is None, expected an object"),
        ({"count": 1.0}, "/count is 1.0, expected int"),
        ({"y": 1, "later": 1}, "/later is unknown, expected a known key"),
    ],
)
def test_a_document_of_another_form_is_refused_with_its_place(
    change: dict[str, Any], message: str
) -> None:
    document = {**to_json(RECORD), **change}
    with pytest.raises(RecordError) as refusal:
        from_json(Record, document)
    assert message in str(refusal.value)


def test_the_whole_document_has_a_name_in_messages() -> None:
    with pytest.raises(RecordError, match="the document is 3, expected an object"):
        from_json(Board, 3)


def test_a_validated_document_may_have_extensions_and_its_own_kinds_of_numbers() -> None:
    document = {"uuid": "GPU-1", "power_w": 1, "clocks_mhz": [1.0], "x-note": "of a center"}
    assert from_json(Board, document, is_validated=True) == Board("GPU-1", 1, (1,))
    with pytest.raises(RecordError, match="/power_w is absent"):
        from_json(Board, {"uuid": "GPU-1"}, is_validated=True)


def test_records_take_their_pointer_and_none_for_absent_keys() -> None:
    document = {"pointer": "/forged", "parts": [{"name": "a"}, {}]}
    declared = from_json(Declared, document, "/nodes/0", is_validated=True)
    parts = (Part("/nodes/0/parts/0", "a"), Part("/nodes/0/parts/1", None))
    assert declared == Declared("/nodes/0", None, parts)
