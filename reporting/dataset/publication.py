"""Describe the files of a data set for archives and catalogues: Croissant (croissant.json) and
RO-Crate (ro-crate-metadata.json).

Sources: Croissant Format Specification 1.0, MLCommons; RO-Crate Metadata Specification 1.1.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.extras import advise_extra
from checker.output import write_output
from reporting.dataset.description import Description
from reporting.dataset.parquet import DICTIONARY_FILE, README_FILE
from reporting.dataset.round import Round
from reporting.dataset.tables import Table, list_tables
from reporting.report_table import Column, Form
from rules.bundle_format.records import Json

CROISSANT_FILE = "croissant.json"
CRATE_FILE = "ro-crate-metadata.json"
CRATE_VERSION = "1.1"
DESCRIPTION_MARKS = {CROISSANT_FILE: "croissant", CRATE_FILE: "ro/crate"}
"""What identifies an earlier file that may be overwritten, by the name of the file."""

_MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".md": "text/markdown",
}


class LibraryMissingError(Exception):
    """A library of the extra `publish` is missing. The message says what to install."""


def load_libraries() -> tuple[ModuleType, ModuleType]:
    """mlcroissant and rocrate.rocrate. Raises LibraryMissingError."""
    try:
        return import_module("mlcroissant"), import_module("rocrate.rocrate")
    except ImportError as error:
        raise LibraryMissingError(
            f"--archive needs {error.name}: {advise_extra('publish')}"
        ) from None


def describe_dataset(round: Round, description: Description, directory: Path) -> None:
    """Write croissant.json and ro-crate-metadata.json beside the files of `write_dataset`.

    Raises LibraryMissingError, and what `checker.output.write_output` raises.
    """
    croissant, rocrate = load_libraries()
    _write_json(
        directory / CROISSANT_FILE,
        _build_croissant(croissant, description, directory, list_tables(round)),
    )
    # The crate lists croissant.json too.
    _write_json(directory / CRATE_FILE, _build_crate(rocrate, round, description, directory))


def _write_json(path: Path, document: Json) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    write_output(path, f"{text}\n", DESCRIPTION_MARKS[path.name])


def _build_croissant(
    mlc: Any, description: Description, directory: Path, tables: Sequence[Table]
) -> Json:
    files = [
        mlc.FileObject(
            id=table.file,
            name=table.file,
            description=table.meaning,
            content_url=table.file,
            content_size=f"{(directory / table.file).stat().st_size} B",
            encoding_formats=["application/x-parquet"],
            sha256=_hash_file(directory / table.file),
        )
        for table in tables
    ]
    metadata = mlc.Metadata(
        name=description.title,
        description=description.description,
        creators=[mlc.Organization(name=name) for name in description.creators],
        license=[description.license_url],
        date_published=datetime.combine(description.date, time(), UTC),
        version=f"{description.date.year}.{description.date.month}.{description.date.day}",
        cite_as=_cite(description),
        url=description.url,
        distribution=files,
        record_sets=[_build_record_set(mlc, table) for table in tables],
    )
    document: Json = metadata.to_json()
    return document


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _cite(description: Description) -> str:
    names = ", ".join(description.creators)
    address = f" {description.url}" if description.url else ""
    return f"{names}: {description.title}, {description.date.year}.{address}"


def _build_record_set(mlc: Any, table: Table) -> Any:
    types: dict[Form, Any] = {
        "text": mlc.DataType.TEXT,
        "count": mlc.DataType.INTEGER,
        "number": mlc.DataType.FLOAT,
        "truth": mlc.DataType.BOOL,
        "date": mlc.DataType.DATETIME,
    }
    return mlc.RecordSet(
        id=table.name,
        name=table.name,
        description=table.meaning,
        fields=[
            mlc.Field(
                id=f"{table.name}/{column.key}",
                name=column.key,
                description=_describe_column(column),
                data_types=types[column.form],
                source=mlc.Source(file_object=table.file, extract=mlc.Extract(column=column.key)),
            )
            for column in table.columns
        ],
    )


def _describe_column(column: Column[Any]) -> str:
    return f"{column.about}, in {column.unit}" if column.unit else column.about


def _build_crate(rocrate: Any, round: Round, description: Description, directory: Path) -> Json:
    crate = rocrate.ROCrate(version=CRATE_VERSION)
    crate.name, crate.description = description.title, description.description
    crate.datePublished = description.date.isoformat()
    _add_entities(
        crate, "license", "CreativeWork", [(description.license_url, description.license)]
    )
    _add_entities(
        crate,
        "author",
        "Organization",
        ((f"#center-{place}", name) for place, name in enumerate(description.creators, 1)),
    )
    if description.url:
        crate.root_dataset["url"] = description.url
    _add_entities(crate, "citation", "ScholarlyArticle", _list_publications(round))
    for name, text in _describe_files(list_tables(round)):
        crate.add_file(
            directory / name,
            properties={
                "name": name,
                "description": text,
                "encodingFormat": _MEDIA_TYPES[Path(name).suffix],
                "contentSize": str((directory / name).stat().st_size),
            },
        )
    document: Json = crate.metadata.generate()
    return document


def _add_entities(
    crate: Any, property: str, type: str, entities: Iterable[tuple[str, str]]
) -> None:
    """Add entities with these ids and names, as values of a property of the data set."""
    values = [crate.add_jsonld({"@id": id, "@type": type, "name": name}) for id, name in entities]
    if values:
        # RO-Crate asks for no list around a single value.
        crate.root_dataset[property] = values if len(values) > 1 else values[0]


def _list_publications(round: Round) -> Iterator[tuple[str, str]]:
    """Address and authors of each publication whose figures are in the data set."""
    published = round.figures[["url", "system"]].dropna().drop_duplicates("url")
    yield from published.itertuples(index=False, name=None)


def _describe_files(tables: Iterable[Table]) -> Iterator[tuple[str, str]]:
    """Each file with what it holds."""
    for table in tables:
        yield table.file, table.meaning
    yield DICTIONARY_FILE, "Name, dtype, unit and meaning of each column."
    yield README_FILE, "How to read the tables, and their columns."
    yield CROISSANT_FILE, "The tables in the Croissant format."
