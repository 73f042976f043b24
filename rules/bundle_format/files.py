"""Reads the files of an untrusted bundle as bytes: regular files only, of limited size, without
following links."""

import errno
import os
import re
import reprlib
import stat
import zlib
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from isal import igzip_lib

from rules.bundle_format.records import (
    EVENTS_FILE,
    EVIDENCE_FILES,
    KINDS_OF_BUNDLES,
    LOG_FILE,
    MANIFEST_FILE,
    NODE_LOG_FILE,
    RUN,
    SIGNATURE_DIR,
    BundleKind,
    find_kind,
)
from rules.finding import Problem, Violation
from rules.rule_ids import FILE_MISSING, FILE_NOT_PLAIN, FILE_TOO_LARGE, FILE_UNLISTED, GZIP_DAMAGED

_MIB = 2**20
MAX_JSON_BYTES = 16 * _MIB
MAX_BYTES = {
    **dict.fromkeys((*EVIDENCE_FILES, MANIFEST_FILE), MAX_JSON_BYTES),
    **dict.fromkeys((name for kind in KINDS_OF_BUNDLES for name in kind.tables), 64 * _MIB),
}
"""Largest size on disk, in bytes, by name. The largest run so far needs a thousandth of it."""
MAX_SIGNATURE_BYTES = 64 * 1024
MAX_SIGNATURE_FILES = 64
"""One signature of the submitter, and two files for each other statement. Verifying each
signature can take a process of its own."""
MAX_UNPACKED_BYTES = {LOG_FILE: 64 * _MIB, EVENTS_FILE: 32 * _MIB, NODE_LOG_FILE: 64 * _MIB}
"""Largest size when unpacked, in bytes, by name. Tables have the limit of their kind of bundle."""
_SIGNATURE_NAME = re.compile(
    r"submission\.[^/]+\.sig|(review|withdrawal|request|challenge)\.[^/]+\.(json|sig)"
)
_PLAIN_HEADER = b"\x1f\x8b\x08\x00"
"""A gzip member without optional fields, as bench-submit writes it."""
_MAX_LISTED = 5
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 2, 4, 80, 80


class Refused(Exception):
    """A file cannot be read in its format. Each of `problems` has the rule, the place and the
    reason."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems


def build_refusal(
    rule: str, file: str, pointer: str, found: str, expected: str, message: str
) -> Refused:
    """Return the exception for one problem that the rule `rule` reports."""
    return Refused(Problem(rule, Violation(file, pointer, found, expected, message)))


def shorten(value: object) -> str:
    """A value from a bundle for use in a message: at most one line, however large or deep the value
    is."""
    return _REPR.repr(value)


@dataclass
class Files:
    """The files of a bundle that could be read, by name (`signatures/…` for signatures), and the
    problems of the others."""

    kind: BundleKind = RUN
    """By the names of the files, those that could not be read included."""
    contents: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_files(directory: Path, skipped: Container[str] = ()) -> Files:
    """Read every file that belongs to the bundle in `directory`, except those with `skipped` names.
    Any other file is a problem and is not read."""
    files = Files()
    try:
        # `lstat` does not follow a link. A link could lead the checker to files outside the
        # submission.
        mode = directory.lstat().st_mode
        if stat.S_ISREG(mode):
            message = (
                "A bundle is a directory and is judged as a whole. Name the directory "
                f"{directory.parent} instead of its file."
            )
            raise build_refusal(
                FILE_NOT_PLAIN, directory.name, "", "a regular file", "a directory", message
            )
        if not stat.S_ISDIR(mode):
            raise _refuse_kind(directory.name, mode, "a directory")
        names = os.listdir(directory)  # noqa: PTH208 - without a Path of each name
    except Refused as refusal:
        files.problems += refusal.problems
        return files
    except OSError as error:
        files.problems += _refuse_unreadable(directory.name, error).problems
        return files
    files.kind = find_kind(names)
    own_files = {*files.kind.evidence_files, MANIFEST_FILE}
    unlisted = []
    # The order of a directory differs between file systems. Findings must not.
    for name in sorted(names):
        if name in own_files:
            if name in skipped:
                continue
            _read_into(files, directory, name, MAX_BYTES[name])
        elif name == SIGNATURE_DIR:
            unlisted += _read_signatures(files, directory)
        elif _refuse_special(files, directory, name):
            unlisted.append(name)
    for name in sorted({*files.kind.required_files, MANIFEST_FILE}.difference(names)):
        files.problems += build_refusal(
            FILE_MISSING,
            name,
            "",
            "no such file",
            "every file of a bundle",
            "Restore it from the machine of the run.",
        ).problems
    files.problems += _find_unlisted(unlisted)
    return files


class NotPlainError(OSError):
    """A path is no regular file. `mode` is that of `stat`."""

    def __init__(self, path: Path, mode: int) -> None:
        self.mode = mode
        super().__init__(
            errno.EINVAL, f"{_describe_kind(mode)} and no regular file", os.fspath(path)
        )


def open_plain(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises NotPlainError for a link or a special file, OSError
    for what cannot be opened."""
    # A device is not even opened, because that can have effects of its own.
    _refuse_not_regular(path, path.lstat().st_mode)
    # The file may be replaced between lstat and open. O_NOFOLLOW then refuses a link, O_NONBLOCK
    # keeps a FIFO from blocking, and fstat refuses what was opened instead.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _refuse_not_regular(path, os.fstat(descriptor).st_mode)
    except NotPlainError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _refuse_not_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotPlainError(path, mode)


def read_plain(path: Path, label: str, max_bytes: int) -> bytes:
    """Read a regular file of at most `max_bytes`. Messages call it `label`. Raises Refused."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            # `read` allocates as many bytes as requested, so request the size of the file and not
            # the limit. The second read is for a file that has grown since.
            content = file.read(size + 1) if size <= max_bytes else b""
            if len(content) > size:
                # One byte more than allowed shows that the file is too large.
                content += file.read(max_bytes + 1 - len(content))
    except NotPlainError as error:
        raise _refuse_kind(label, error.mode, "a regular file") from None
    except OSError as error:
        raise _refuse_unreadable(label, error) from None
    if max(size, len(content)) > max_bytes:
        raise build_size_refusal(label, f"{size} bytes", f"at most {max_bytes} bytes")
    return content


def unpack(name: str, packed: bytes, kind: BundleKind = RUN) -> bytes:
    """Unpack `packed`, a file of a bundle of this kind, which must be exactly one gzip member of
    UTF-8 text. Returns the text as bytes. Raises Refused."""
    limit = kind.max_table_bytes if name in kind.tables else MAX_UNPACKED_BYTES[name]
    try:
        # Bounded, so that a small file cannot fill the memory (a decompression bomb). One byte more
        # than the limit shows that there is more.
        text, stream = _inflate(packed, limit + 1)
        if len(text) > limit:
            raise build_size_refusal(
                name, f"more than {limit} bytes when unpacked", f"at most {limit} bytes"
            )
        # ASCII is valid UTF-8, and `isascii` is much faster than decoding.
        if not text.isascii():
            text.decode()
    except zlib.error as error:
        raise _refuse_damaged(name, str(error).removeprefix("Error ")) from None
    except UnicodeDecodeError as error:
        raise _refuse_damaged(
            name, f"unpacks to bytes that are not UTF-8, first at offset {error.start}"
        ) from None
    if not stream.eof:
        raise _refuse_damaged(name, "ends in the middle of the gzip stream")
    # gzip tools would read a second member or ignore what follows.
    if stream.unused_data:
        raise _refuse_damaged(
            name, f"{len(stream.unused_data)} bytes after the end of the gzip stream"
        )
    return text


def _inflate(packed: bytes, max_bytes: int) -> tuple[bytes, Any]:
    """The first `max_bytes` bytes of a gzip stream and the state it is in then. Raises zlib.error.

    ISA-L takes a third of the time of zlib. If it fails, zlib reads the stream too and gives the
    reason.
    """
    if packed.startswith(_PLAIN_HEADER):
        # A gzip member ends with the size of its text. A buffer of this size need not grow, which
        # takes as long as unpacking. The stated size may be false: then the stream does not end.
        stated_bytes = int.from_bytes(packed[-4:], "little")
        igzip_stream = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
        with suppress(igzip_lib.IsalError):  # type: ignore[arg-type]  # its stub says that it is an instance
            text = igzip_stream.decompress(packed, min(stated_bytes + 1, max_bytes))
            if igzip_stream.eof or len(text) == max_bytes:
                return text, igzip_stream
    stream: Any = zlib.decompressobj(wbits=31)
    return stream.decompress(packed, max_bytes), stream


def build_size_refusal(name: str, found: str, expected: str) -> Refused:
    """Return the exception for a file that is larger than any run needs."""
    return build_refusal(
        FILE_TOO_LARGE,
        name,
        "",
        found,
        expected,
        "No run needs this size. Reading stopped at the limit.",
    )


def _read_into(files: Files, directory: Path, name: str, max_bytes: int) -> None:
    try:
        files.contents[name] = read_plain(directory / name, name, max_bytes)
    except Refused as refusal:
        files.problems += refusal.problems


def _read_signatures(files: Files, directory: Path) -> list[str]:
    """Read the signatures; return the names of other files in their directory."""
    unlisted = []
    try:
        mode = (directory / SIGNATURE_DIR).lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise _refuse_kind(SIGNATURE_DIR, mode, "a directory")
        names = sorted(entry.name for entry in (directory / SIGNATURE_DIR).iterdir())
        if len(names) > MAX_SIGNATURE_FILES:
            found, expected = f"{len(names)} files", f"at most {MAX_SIGNATURE_FILES} files"
            raise build_size_refusal(SIGNATURE_DIR, found, expected)
        for name in names:
            inner = f"{SIGNATURE_DIR}/{name}"
            if _SIGNATURE_NAME.fullmatch(name):
                _read_into(files, directory, inner, MAX_SIGNATURE_BYTES)
            elif _refuse_special(files, directory, inner):
                unlisted.append(inner)
    except Refused as refusal:
        files.problems += refusal.problems
    except OSError as error:
        files.problems += _refuse_unreadable(SIGNATURE_DIR, error).problems
    return unlisted


def _refuse_special(files: Files, directory: Path, name: str) -> bool:
    """Whether an entry that does not belong to the bundle is a file or a directory. Any other kind
    is added to the problems."""
    mode = (directory / name).lstat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return True
    files.problems += _refuse_kind(name, mode, "nothing of that name").problems
    return False


def _find_unlisted(names: list[str]) -> list[Problem]:
    violations = [
        Violation(
            n, "", "not part of a bundle", "no such file", "No signature covers it. Remove it."
        )
        for n in names
    ]
    # A directory with thousands of foreign files must not flood the findings.
    if len(names) > _MAX_LISTED:
        count = len(names) - _MAX_LISTED
        summary = Violation(
            "",
            "",
            f"{count} more such files",
            "no such files",
            "No signature covers them. Remove them.",
        )
        violations = [*violations[:_MAX_LISTED], summary]
    return [Problem(FILE_UNLISTED, violation) for violation in violations]


def _describe_kind(mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a regular file",
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a block device",
        stat.S_IFCHR: "a character device",
    }
    return kinds.get(stat.S_IFMT(mode), "something that is not a file")


def _refuse_kind(name: str, mode: int, expected: str) -> Refused:
    return build_refusal(
        FILE_NOT_PLAIN,
        name,
        "",
        _describe_kind(mode),
        expected,
        "A bundle contains its evidence as regular files. Replace this by the file itself.",
    )


def _refuse_unreadable(name: str, error: OSError) -> Refused:
    message = "Give the checker read permission, or restore the file."
    return build_refusal(
        FILE_MISSING, name, "", f"cannot be read: {error.strerror}", "a readable file", message
    )


def _refuse_damaged(name: str, found: str) -> Refused:
    message = (
        "The file was cut, extended or not packed with gzip. Restore the original from the machine "
        "of the run."
    )
    return build_refusal(GZIP_DAMAGED, name, "", found, "one gzip stream of UTF-8 text", message)
