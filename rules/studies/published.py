"""Published studies of image inference, transcribed from released data (schema
`published-study-1`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, build_refusal
from rules.bundle_format.records import Json
from rules.bundle_format.study_records import PUBLISHED_STUDY_FORMAT
from rules.rule_ids import SCHEMA_VIOLATED
from rules.studies.models import classify
from rules.studies.objections import mark_doubts, parse_objections
from rules.studies.results import BatchFigures, ModelResult, Setup

_ADVICE = "The columns do not belong together. Make the file again from its source."


@dataclass(frozen=True)
class PublishedSource:
    """Where the data of a published study come from."""

    url: str
    commit: str | None
    """None if the data are in no repository."""
    license: str
    """SPDX identifier."""
    license_text: str
    changes: str
    """How the file differs from the data."""


@dataclass(frozen=True)
class PublishedStudy:
    """A published study and its results."""

    id: str
    title: str
    authors: str
    """Names, separated by commas."""
    year: int
    url: str
    source: PublishedSource
    notes: tuple[str, ...]
    results: tuple[ModelResult, ...]
    """In the order of the setups, and of the models within a setup. A model without a result on a
    setup is absent. Some carry an objection with a quotation (`ModelResult.doubts`)."""


def read_published_study(path: Path) -> PublishedStudy:
    """Read a file of the format `wattmark-published-study/1`. Raises Refused."""
    document = read_document(path.name, path.read_bytes(), PUBLISHED_STUDY_FORMAT)
    return parse_published_study(path.name, document)


def parse_published_study(name: str, document: Json) -> PublishedStudy:
    """The study in a document that is valid by its schema, read from the file `name`. Raises
    Refused if its columns do not belong together."""
    _check_columns(name, document)
    setups = range(len(document["setups"]))
    by_place = {
        (setup, model): result
        for setup in setups
        for model, result in _parse_setup(name, document, setup)
    }
    results = mark_doubts(list(by_place.values()), list(by_place), parse_objections(document))
    return PublishedStudy(
        document["id"],
        document["title"],
        document["authors"],
        document["year"],
        document["url"],
        parse_source(document),
        tuple(document["notes"]),
        results,
    )


def parse_source(document: Json) -> PublishedSource:
    """Where the data of a published study come from."""
    keys = PublishedSource.__dataclass_fields__
    return PublishedSource(**{key: document["source"][key] for key in keys})


def _check_columns(name: str, document: Json) -> None:
    """Raises Refused if two columns differ in length, or if a model or a setup occurs twice."""
    models = document["models"]
    expected = len(models["model"])
    for pointer, column in _list_columns(document):
        if len(column) != expected:
            found = f"{len(column)} values"
            raise _refuse(name, pointer, found, f"{expected} values, one for each model")
    inputs = (
        f"{model} at {size} pixels"
        for model, size in zip(models["model"], models["size"], strict=True)
    )
    _check_unique(name, "/models/model", inputs, "each model once at a size")
    setups = (
        f"{s['board']}, {s['engine']}, {s['precision']}, {s['cap_w']} W" for s in document["setups"]
    )
    _check_unique(name, "/setups", setups, "each setup once")


def _check_unique(name: str, pointer: str, texts: Iterable[str], expected: str) -> None:
    """Raises Refused if two of the texts, which describe the values at `pointer`, are equal."""
    places: dict[str, str] = {}
    for number, text in enumerate(texts):
        place = f"{pointer}/{number}"
        if text in places:
            raise _refuse(name, place, f"{text}, also at {places[text]}", expected)
        places[text] = place


def _refuse(name: str, pointer: str, found: str, expected: str) -> Refused:
    return build_refusal(SCHEMA_VIOLATED, name, pointer, found, expected, _ADVICE)


def _list_columns(document: Json) -> Iterator[tuple[str, list[Any]]]:
    """The columns of a document with their JSON pointers."""
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("/models", document["models"]),
        ("/models/accuracy_pct", document["models"]["accuracy_pct"]),
        *((f"/setups/{i}/results", s["results"]) for i, s in enumerate(document["setups"])),
    ]
    for pointer, table in tables:
        for key, column in table.items():
            # Skip the object of the accuracies, and extensions.
            if isinstance(column, list) and not key.startswith("x-"):
                yield f"{pointer}/{key}", column


def _parse_setup(name: str, document: Json, number: int) -> Iterator[tuple[int, ModelResult]]:
    """The results on one setup, each with the number of its model. Raises Refused for a result that
    is not complete."""
    record, models = document["setups"][number], document["models"]
    setup = Setup(
        document["id"],
        "published",
        record["board"],
        record["engine"],
        record["precision"],
        record["cap_w"],
        record["claimed_precision"],
    )
    figures = record["results"]
    required = ("joules_per_image", "images_per_s", "latency_s")
    for i, model in enumerate(models["model"]):
        missing = [key for key in required if figures[key][i] is None]
        if len(missing) == len(required):
            continue
        if missing:
            present = [key for key in required if key not in missing]
            raise _refuse(
                name,
                f"/setups/{number}/results/{missing[0]}/{i}",
                f"no value of {model}",
                f"a value, because {' and '.join(present)} has one",
            )
        joules, images_per_s, latency_s = (figures[key][i] for key in required)
        # The authors' procedure runs one batch after the other, so throughput times latency is
        # the batch.
        batch = figures["batch"][i] or max(1, round(images_per_s * latency_s))
        best = BatchFigures(batch, images_per_s, joules, images_per_s * joules, latency_s=latency_s)
        architecture, _, tag = model.partition(".")
        result = ModelResult(
            setup,
            architecture,
            tag or None,
            models["size"][i],
            classify(architecture),
            best,
            max_batch=figures["max_batch"][i],
            flops=models["flops"][i],
            params=models["params"][i],
            activations=models["activations"][i],
            accuracy_pct={
                image_set: column[i]
                for image_set, column in models["accuracy_pct"].items()
                if column[i] is not None
            },
        )
        yield i, result
