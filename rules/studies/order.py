"""The random order in which a study measures its models."""

import hashlib
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Measurable(Protocol):
    """A model at an input size, on an engine, in a precision."""

    @property
    def architecture(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def engine(self) -> str: ...
    @property
    def precision(self) -> str: ...


Entry = TypeVar("Entry", bound=Measurable)


def order_work(entries: Iterable[Entry], seed: int) -> list[Entry]:
    """The entries in the order of the seed. A part of the entries has the order that it has among
    all of them."""
    return sorted(entries, key=lambda entry: rank_entry(entry, seed))


def rank_entry(entry: Measurable, seed: int) -> bytes:
    """The place of an entry among all entries: a digest of the entry and the seed."""
    text = f"{seed} {entry.architecture} {entry.size} {entry.engine} {entry.precision}"
    return hashlib.sha256(text.encode()).digest()
