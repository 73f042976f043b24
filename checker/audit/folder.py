"""The files of one directory, as adapters see them: regular files of limited size, read as text,
JSON or CSV, and never through a link."""

import contextlib
import csv
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rules.bundle_format.files import NotPlainError, open_plain

_MIB = 2**20
MAX_FILE_BYTES = 128 * _MIB
MAX_TEXT_BYTES = 256 * _MIB
"""Unpacked."""
MAX_JSON_BYTES = 64 * _MIB
MAX_ROWS = 1_000_000
_MAX_KEPT = 256 * _MIB
"""How many characters of files are kept for the next adapter."""
MAX_FILES = 10_000
"""In one directory."""
MAX_NUMBER = 1e30
"""Beyond every quantity of a measurement in every unit. Products of a few of these are finite."""
_HEAD_BYTES = 64 * 1024
_PACKED = ".gz"

Json = dict[str, Any]


class UnreadableError(Exception):
    """A file cannot be read. The message names the place in it, what was found and what to do."""

    def __init__(self, file: str, text: str) -> None:
        super().__init__(text)
        self.file = file


@dataclass(frozen=True)
class Folder:
    """One directory."""

    path: Path
    _texts: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _documents: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the files that are no links, without the ending of packed ones, sorted.
        Raises UnreadableError."""
        try:
            entries = [entry.name for entry in self.path.iterdir() if _is_plain(entry)]
        except OSError as error:
            raise UnreadableError(
                "", f"cannot be searched: {error.strerror}; give the checker permission"
            ) from None
        if len(entries) > MAX_FILES:
            raise UnreadableError(
                "", f"holds {len(entries)} files; audit directories of at most {MAX_FILES}"
            )
        return tuple(sorted({name.removesuffix(_PACKED) for name in entries}))

    def open(self, inner: str) -> "Folder":
        """A directory beside or below this one."""
        return Folder(self.path / inner)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name, packed or not. A directory that cannot be searched
        has none."""
        with contextlib.suppress(UnreadableError):
            return name in self.names
        return False

    def locate(self, name: str) -> str:
        """The name of the file on disk: with the ending if it is packed."""
        return name if (self.path / name).exists() else f"{name}{_PACKED}"

    def read_bytes(self, name: str, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
        """The content of a file, unpacked. Raises UnreadableError."""
        actual = self.locate(name)
        try:
            with open_plain(self.path / actual) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except NotPlainError:
            raise UnreadableError(actual, "is no regular file; name the file itself") from None
        except OSError as error:
            raise UnreadableError(
                actual, f"cannot be read: {error.strerror}; restore the file"
            ) from None
        if len(content) > min(MAX_FILE_BYTES, max_bytes):
            raise UnreadableError(
                actual,
                f"is larger than {min(MAX_FILE_BYTES, max_bytes) // _MIB} MiB; audit a part of it",
            )
        return _unpack(actual, content, max_bytes) if actual != name else content

    def read_text(self, name: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
        """The text of a file. Raises UnreadableError."""
        if name not in self._texts:
            try:
                text = self.read_bytes(name, max_bytes).decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise UnreadableError(
                    self.locate(name),
                    f"is no text in UTF-8 at byte {error.start}; restore the file",
                ) from None
            if sum(map(len, self._texts.values())) + len(text) > _MAX_KEPT:
                self._texts.clear()
                self._documents.clear()
            self._texts[name] = text
        return self._texts[name]

    def read_head(self, name: str) -> str:
        """The beginning of a file as text, for recognising it. Empty if it cannot be read."""
        with (
            contextlib.suppress(OSError, zlib.error),
            open_plain(self.path / self.locate(name)) as file,
        ):
            content = file.read(_HEAD_BYTES)
            if self.locate(name) != name:
                content = zlib.decompressobj(wbits=31).decompress(content, _HEAD_BYTES)
            return content.decode("utf-8-sig", "replace")
        return ""

    def read_header(self, name: str) -> tuple[str, ...]:
        """The first row of a CSV file. Empty if it cannot be read."""
        head = self.read_head(name).partition("\n")[0].rstrip("\r")
        with contextlib.suppress(csv.Error, StopIteration):
            return tuple(cell.strip() for cell in next(csv.reader([head])))
        return ()

    def read_rows(self, name: str) -> list[Json]:
        """The rows of a CSV file with a header, as texts by column. Raises UnreadableError."""
        reader = csv.reader(io.StringIO(self.read_text(name), newline=""))
        actual = self.locate(name)
        try:
            header = [cell.strip() for cell in next(reader, [])]
            rows: list[Json] = []
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise UnreadableError(
                        actual,
                        f"line {reader.line_num} has {len(cells)} cells and the header "
                        f"{len(header)}; restore the line, or remove it if it was cut",
                    )
                if len(rows) >= MAX_ROWS:
                    raise UnreadableError(
                        actual, f"has more than {MAX_ROWS} rows; audit a part of it"
                    )
                rows.append({h: c.strip() for h, c in zip(header, cells, strict=True)})
        except csv.Error as error:
            raise UnreadableError(
                actual, f"is no CSV at line {reader.line_num}: {error}; restore the file"
            ) from None
        return rows

    def read_json(self, name: str) -> Any:
        """The JSON document of a file. Raises UnreadableError."""
        if name not in self._documents:
            actual = self.locate(name)
            text = self.read_text(name, MAX_JSON_BYTES)
            try:
                self._documents[name] = json.loads(text)
            except json.JSONDecodeError as error:
                raise UnreadableError(
                    actual,
                    f"is no JSON at line {error.lineno}, column {error.colno}: {error.msg}; "
                    "restore the file",
                ) from None
            except (RecursionError, ValueError):
                raise UnreadableError(
                    actual, "is JSON that nests too deeply or has too long a number; restore it"
                ) from None
        return self._documents[name]

    def read_object(self, name: str) -> Json:
        """The JSON object of a file. Raises UnreadableError."""
        document = self.read_json(name)
        if not isinstance(document, dict):
            raise UnreadableError(self.locate(name), "is no JSON object; restore the file")
        return document

    def peek_object(self, name: str) -> Json | None:
        """The JSON object of a file, None if it is none or cannot be read: for recognising it."""
        with contextlib.suppress(UnreadableError):
            document = self.read_json(name)
            return document if isinstance(document, dict) else None
        return None

    def read_json_lines(self, name: str) -> Iterator[tuple[int, Json]]:
        """The objects of a file with one on each line, with the number of the line. Raises
        UnreadableError."""
        actual = self.locate(name)
        for number, line in enumerate(self.read_text(name).splitlines(), 1):
            if not line.strip():
                continue
            if number > MAX_ROWS:
                raise UnreadableError(actual, f"has more than {MAX_ROWS} lines; audit a part of it")
            yield number, parse_object(actual, number, line)


def parse_object(file: str, number: int, text: str) -> Json:
    """The JSON object on line `number` of `file`. Raises UnreadableError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnreadableError(
            file,
            f"line {number} holds no JSON object; restore the line, or remove it if it was cut",
        )
    return value


def take_number(values: Mapping[str, Any], key: str, file: str, place: str = "") -> float | None:
    """The number at `key`, None where there is none. Raises UnreadableError for anything else."""
    value = values.get(key)
    if value is None or value in ("", "N/A", "None", "null"):
        return None
    number = math.nan
    if not isinstance(value, bool) and isinstance(value, int | float | str):
        with contextlib.suppress(ValueError, OverflowError):
            number = float(value)
    if not abs(number) <= MAX_NUMBER:
        where = f"{place}: " if place else ""
        raise UnreadableError(
            file, f"{where}{key} is {str(value)[:40]!r} and no number; restore the figure"
        )
    return number


def require_number(values: Mapping[str, Any], key: str, file: str, place: str = "") -> float:
    """The number at `key`. Raises UnreadableError where there is none."""
    number = take_number(values, key, file, place)
    if number is None:
        where = f"{place}: " if place else ""
        raise UnreadableError(file, f"{where}{key} is missing; restore the figure")
    return number


def take_object(values: Mapping[str, Any], key: str) -> Json:
    """The object at `key`, an empty one where there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def take_text(values: Mapping[str, Any], key: str) -> str:
    """The text or number at `key` as text, empty where there is none."""
    value = values.get(key)
    return str(value) if isinstance(value, str | int | float) and value != "" else ""


def take_list(values: Mapping[str, Any], key: str) -> Sequence[Any]:
    """The list at `key`, an empty one where there is none."""
    value = values.get(key)
    return value if isinstance(value, list) else ()


def _is_plain(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.is_file() and not path.is_symlink()
    return False


def _unpack(name: str, packed: bytes, max_bytes: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(packed, max_bytes + 1)
    except zlib.error:
        raise UnreadableError(name, "is no gzip stream; restore the file") from None
    if len(content) > max_bytes:
        raise UnreadableError(
            name, f"unpacks to more than {max_bytes // _MIB} MiB; audit a part of it"
        )
    if not stream.eof:
        raise UnreadableError(name, "ends in the middle of the gzip stream; restore the file")
    return content
