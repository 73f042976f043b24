"""Reads the lines of a log: plain or gzipped, with any line ends, with or without a byte order
mark; and those of a profile of Slurm in HDF5."""

import codecs
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from harness.power_logs.hdf5 import MAGIC, read_profile
from rules.power_logs.records import PowerLogError

MAX_LINE_CHARACTERS = 2**24
"""The longest line of a known log has 324 characters. An answer of Prometheus is one line, and must
be read to be refused by its name."""
MAX_UNPACKED_BYTES = 2**30
_SNIFFED_BYTES = 2**16
_GZIP = b"\x1f\x8b"
_OTHER_ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"\xfd7zXZ\x00": "an xz file",
    b"BZh": "a bzip2 file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"7z\xbc\xaf": "a 7-Zip archive",
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")
_MAX_CONTROL_SHARE = 0.01


@contextmanager
def open_lines(path: Path) -> Iterator[Iterator[tuple[int, str]]]:
    """Open a log and give its lines with their numbers from 1, without line ends.

    Bytes that are not UTF-8 are read as Windows-1252, which many loggers write, or become U+FFFD. A
    damaged line is found by its content.
    Raises PowerLogError if the file is no text, is damaged or is too large.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PowerLogError(f"{path}: this is no regular file; name the file of the log")
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                yield _number_lines(path, read_profile(path))
                return
            file.seek(0)
            with _unpack(path, file) as stream:
                yield _number_lines(path, _read_lines(stream))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise PowerLogError(
            f"{path}: the gzip file is damaged or cut ({error}); copy it again from its source"
        ) from None
    except OSError as error:
        raise PowerLogError(f"{path}: cannot be read ({error.strerror})") from None


def _unpack(path: Path, file: BinaryIO) -> io.TextIOWrapper:
    """The text of the file. Raises PowerLogError for a file that is no text."""
    magic = file.read(6)
    file.seek(0)
    for mark, kind in _OTHER_ARCHIVES.items():
        if magic.startswith(mark):
            raise PowerLogError(f"{path}: this is {kind}; unpack or export it as text first")
    stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if magic.startswith(_GZIP) else file
    buffered = io.BufferedReader(cast(io.RawIOBase, stream), _SNIFFED_BYTES)
    head = buffered.peek(_SNIFFED_BYTES)
    if not head:
        raise PowerLogError(f"{path}: the file is empty; name a log with readings")
    encoding = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    control_bytes = sum(map(head.count, map(bytes, zip(_CONTROL_BYTES))))
    if encoding != "utf-16" and control_bytes > _MAX_CONTROL_SHARE * len(head):
        raise PowerLogError(
            f"{path}: the file is binary and no log; export the log of the meter as text"
        )
    # Universal line ends: logs from Windows have CRLF, and those of some loggers only CR.
    errors = "replace" if encoding == "utf-16" else _AS_WINDOWS_1252
    return io.TextIOWrapper(buffered, encoding, errors=errors, newline=None)


def _read_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    return wrong.decode("cp1252", "replace"), error.end


_AS_WINDOWS_1252 = "wattmark-windows-1252"
codecs.register_error(_AS_WINDOWS_1252, _read_as_windows_1252)


def _read_lines(stream: io.TextIOWrapper) -> Iterator[str]:
    while line := stream.readline(MAX_LINE_CHARACTERS):
        yield line


def _number_lines(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    size = 0
    for number, line in enumerate(lines, 1):
        size += len(line)
        if len(line) == MAX_LINE_CHARACTERS:
            raise PowerLogError(
                f"{path}, line {number}: the line has {MAX_LINE_CHARACTERS} characters or more, so "
                "this is no power log of a known format"
            )
        if size > MAX_UNPACKED_BYTES:
            raise PowerLogError(
                f"{path}, line {number}: the log is larger than {MAX_UNPACKED_BYTES >> 30} GiB; "
                "cut it to the time of the run"
            )
        yield number, line.rstrip("\n")
