"""Reads a published study of trends."""

from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from rules.bundle_format.documents import read_document
from rules.bundle_format.files import build_refusal
from rules.bundle_format.records import Json
from rules.bundle_format.study_records import PUBLISHED_STUDY_FORMAT
from rules.rule_ids import SCHEMA_VIOLATED
from rules.studies.published import parse_source
from rules.studies.trends.records import (
    TRENDS,
    LanguageModel,
    PrintedFigure,
    PublishedBoard,
    Speedup,
    TrendsStudy,
    VisionModel,
)

_Row = TypeVar("_Row")
_DATES = ("launched", "released")
_TOLERANCE = 0.01
"""Highest difference between a printed efficiency and rate over power, as a share. The largest of
the publication is 0.5 %."""


def read_trends_study(path: Path) -> TrendsStudy:
    """Read a file of the format `wattmark-published-study/1` with the study `trends`. Raises
    Refused."""
    document = read_document(path.name, path.read_bytes(), PUBLISHED_STUDY_FORMAT)
    if document["study"] != TRENDS:
        raise build_refusal(
            SCHEMA_VIOLATED, path.name, "/study", document["study"], TRENDS, "Name another file."
        )
    return parse_trends_study(path.name, document)


def parse_trends_study(name: str, document: Json) -> TrendsStudy:
    """The study in a document that is valid by its schema, read from the file `name`. Raises
    Refused for a date that the calendar does not have, and for a board whose efficiency is not its
    rate over its power."""
    _check_efficiencies(name, document)
    return TrendsStudy(
        **{key: document[key] for key in ("id", "title", "authors", "year", "url")},
        source=parse_source(document),
        notes=tuple(document["notes"]),
        boards=tuple(_parse_rows(name, document, "boards", PublishedBoard)),
        vision_models=tuple(_parse_rows(name, document, "vision_models", VisionModel)),
        language_models=tuple(_parse_rows(name, document, "language_models", LanguageModel)),
        speedups=tuple(_parse_rows(name, document, "speedups", Speedup)),
        energy_checks=tuple(_parse_rows(name, document, "energy_checks", PrintedFigure)),
        edge_devices=tuple(_parse_rows(name, document, "edge_devices", PrintedFigure)),
    )


def _check_efficiencies(name: str, document: Json) -> None:
    for number, row in enumerate(document["boards"]):
        gflops_per_w = 1e3 * row["tflops"] / row["tdp_w"]
        if abs(row["gflops_per_w"] / gflops_per_w - 1) > _TOLERANCE:
            raise build_refusal(
                SCHEMA_VIOLATED,
                name,
                f"/boards/{number}/gflops_per_w",
                f"{row['gflops_per_w']} for {row['board']}",
                f"about {gflops_per_w:.4g}: {row['tflops']} TFLOP/s over {row['tdp_w']} W",
                "Correct rate, power or efficiency by the publication.",
            )


def _parse_rows(name: str, document: Json, key: str, record: type[_Row]) -> Iterator[_Row]:
    """The rows of one table. The fields of `record` are the keys of a row; a key that may be absent
    is then None."""
    keys = [field.name for field in fields(record)]  # type: ignore[arg-type]
    for number, row in enumerate(document[key]):
        values: dict[str, Any] = {k: row.get(k) for k in keys}
        for date_key in _DATES:
            if values.get(date_key) is not None:
                values[date_key] = _parse_date(name, f"/{key}/{number}/{date_key}", row[date_key])
        yield record(**values)


def _parse_date(name: str, pointer: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        advice = "Correct the date by the publication."
        expected = "a date of the calendar, YYYY-MM-DD"
        raise build_refusal(SCHEMA_VIOLATED, name, pointer, text, expected, advice) from None
