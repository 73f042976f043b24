"""The description of a round that is published: round.toml."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.command_line.toml_text import parse_toml
from reporting.paper import keep_web_address

DESCRIPTION_FILE = "round.toml"
_EXAMPLE = """\
title = "Power-aware throughput of AI applications, round 2026-06"
description = "Throughput and energy per item of H100 and MI300X over the power cap."
creators = ["Example Computing Center"]
license = "CC-BY-4.0"
date = 2026-06-30
"""
_LICENSE = re.compile(r"[A-Za-z0-9.+-]+")
"""An SPDX identifier."""


class DescriptionError(Exception):
    """round.toml is missing or wrong. The message names the file and says what to write."""


@dataclass(frozen=True)
class Description:
    """What an archive asks for. Who publishes the round decides it."""

    title: str
    description: str
    creators: tuple[str, ...]
    """Names of the centers."""
    license: str
    """SPDX identifier of the licence of the data."""
    date: datetime.date
    """Of publication."""
    url: str | None = None
    """Where the data set will be found, such as a reserved DOI; None if that is not known yet."""

    @property
    def license_url(self) -> str:
        return f"https://spdx.org/licenses/{self.license}"


def read_description(round_directory: Path) -> Description:
    """Read round.toml in the directory of a round. Raises DescriptionError."""
    path = round_directory / DESCRIPTION_FILE
    try:
        document = parse_toml(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise DescriptionError(
            f"{path}: there is no such file; a published data set needs it. Write it, for "
            f"example:\n\n{_EXAMPLE}"
        ) from None
    except OSError as error:
        raise DescriptionError(f"{path}: cannot be read ({error.strerror}); correct it") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise DescriptionError(f"{path}: cannot be read as TOML: {error}; correct it") from None
    _check_keys(path, document)
    return Description(**{**document, "creators": tuple(document["creators"])})


def _check_keys(path: Path, document: Mapping[str, Any]) -> None:
    for name in document:
        if name not in _EXPECTED:
            raise DescriptionError(f"{path}: {name} is unknown; known are {', '.join(_EXPECTED)}")
    for name, (expected, is_valid) in _EXPECTED.items():
        if name not in document and name != "url":
            raise DescriptionError(
                f"{path}: {name} is missing; write it, for example:\n\n{_EXAMPLE}"
            )
        if name in document and not is_valid(document[name]):
            raise DescriptionError(f"{path}: {name} is {document[name]!r}; expected {expected}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(map(_is_text, value))


def _is_license(value: object) -> bool:
    return isinstance(value, str) and _LICENSE.fullmatch(value) is not None


def _is_day(value: object) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_web_address(value: object) -> bool:
    return isinstance(value, str) and keep_web_address(value) is not None


_EXPECTED: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "title": ("a text", _is_text),
    "description": ("a text", _is_text),
    "creators": ('a list of names, such as ["Example Computing Center"]', _is_list_of_texts),
    "license": ('an SPDX identifier, such as "CC-BY-4.0"', _is_license),
    "date": ("a day without quotes, such as 2026-06-30", _is_day),
    "url": ("a web address, such as that of a reserved DOI", _is_web_address),
}
"""What is expected of each key. All but `url` are required."""
