"""Typed records of JSON objects, each with the pointer of the object that it comes from."""

from dataclasses import dataclass
from typing import Self

from rules.bundle_format.records import Json
from rules.json_record import from_json


@dataclass(frozen=True)
class JsonRecord:
    """A typed record of a JSON object. Its fields are those keys of the object that are read. An
    optional field that is absent is None."""

    pointer: str
    """JSON pointer of the object in its file, such as `/readbacks/3`."""

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object."""
        return from_json(cls, record, pointer, is_validated=True)

    @classmethod
    def from_document(cls, document: Json) -> Self:
        """The record of a whole JSON document."""
        return cls.from_json("", document)
