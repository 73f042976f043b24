"""`source.toml` beside the evidence of another program: where it comes from."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.audit.folder import Folder, UnreadableError
from checker.command_line.toml_text import parse_toml
from reporting.paper import keep_web_address

DECLARATION_FILE = "source.toml"
_MAX_BYTES = 64 * 1024


class ForeignError(Exception):
    """Evidence of other programs cannot be shown. The message names the path and what to do."""


@dataclass(frozen=True)
class Declaration:
    """What `source.toml` states of the evidence beside and below it."""

    url: str | None = None
    retrieved: datetime.date | None = None
    licence: str | None = None


def find_declaration(directory: Path, root: Path) -> Declaration:
    """The declaration in `directory` or the nearest one above it, not above `root`; an empty one if
    there is none. Raises ForeignError."""
    for place in (directory, *directory.parents):
        folder = Folder(place)
        if folder.has(DECLARATION_FILE):
            return _read(folder)
        if place == root:
            break
    return Declaration()


def _read(folder: Folder) -> Declaration:
    path = folder.path / DECLARATION_FILE
    try:
        document = parse_toml(folder.read_bytes(DECLARATION_FILE, _MAX_BYTES))
    except UnreadableError as error:
        raise ForeignError(f"{path}: {error}") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise ForeignError(f"{path}: cannot be read as TOML: {error}; correct it") from None
    for name, value in document.items():
        if name not in _EXPECTED:
            raise ForeignError(f"{path}: {name} is unknown; known are {', '.join(_EXPECTED)}")
        expected, is_valid = _EXPECTED[name]
        if not is_valid(value):
            raise ForeignError(f"{path}: {name} is {value!r}; expected {expected}")
    return Declaration(**document)


def _is_web_address(value: Any) -> bool:
    return isinstance(value, str) and keep_web_address(value) is not None


def _is_day(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


_EXPECTED: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "url": ("a web address", _is_web_address),
    "retrieved": ("a day without quotes, such as 2026-06-30", _is_day),
    "licence": ("a text", _is_text),
}
"""What is expected of each key. None is required."""
