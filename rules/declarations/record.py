"""Typed records of JSON objects, each with the pointer of the object that it comes from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from rules.bundle_format.records import Json

Parts = Mapping[str, Callable[[str, Json], Any]]
"""Functions that make a record from its pointer and its JSON object, by the name of the field."""


@dataclass(frozen=True)
class JsonRecord:
    """A typed record of a JSON object. Its fields are those keys of the object that are read."""

    pointer: str
    """JSON pointer of the object in its file, such as `/readbacks/3`."""

    PARTS: ClassVar[Parts] = {}
    """The fields that are records themselves. A list of objects becomes a tuple of records."""

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object. An optional field that is absent is None."""
        values: Json = {}
        for field in fields(cls):
            value = record.get(field.name)
            if field.name in cls.PARTS and value is not None:
                value = _make_part(cls.PARTS[field.name], f"{pointer}/{field.name}", value)
            values[field.name] = value
        return cls(**{**values, "pointer": pointer})

    @classmethod
    def from_document(cls, document: Json) -> Self:
        """The record of a whole JSON document."""
        return cls.from_json("", document)


def _make_part(make: Callable[[str, Json], Any], pointer: str, value: Json | list[Json]) -> Any:
    if isinstance(value, list):
        return tuple(make(f"{pointer}/{i}", record) for i, record in enumerate(value))
    return make(pointer, value)
