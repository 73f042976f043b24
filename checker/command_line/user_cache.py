"""Directories and files of a cache that only this user may write. Each kind has a directory, and in
it one for each version of the code."""

import os
import shutil
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from checker.command_line.config import find_cache_directory

KEPT_VERSIONS = 3
"""For so many versions of the code, entries are kept."""
_HASH_BYTES = 32


class UnsafeError(Exception):
    """Somebody else may write the file or directory. The message names it."""


def open_directory(kind: str, code: str) -> Path | None:
    """The directory of the entries of a kind for the code with the hash `code`; None where there
    can be none. Raises UnsafeError."""
    top = find_cache_directory() / kind
    if not top.is_absolute():
        return None  # There is no home.
    try:
        directory = top / code[:32]
        is_new = not directory.exists()
        for place in (top.parent.parent, top.parent, top, directory):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (top.parent, top, directory):
            _refuse_foreign(place, place.stat())
        with os.scandir(directory) as entries:
            for item in entries:
                # Another process may rename its draft meanwhile.
                with suppress(FileNotFoundError):
                    _refuse_foreign(item.path, item.stat())
        os.utime(directory)
        if is_new:
            remove_old(top, KEPT_VERSIONS)
    except OSError:
        return None
    return directory


def read_entry(path: Path) -> bytes | None:
    """What `write_entry` wrote; None without an entry, or if it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, content = content[:_HASH_BYTES], content[_HASH_BYTES:]
    return content if sha256(content).digest() == digest else None


def write_entry(path: Path, content: bytes) -> None:
    """Write an entry as a whole, or not at all if the disk is full."""
    draft = path.with_suffix(f".{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(sha256(content).digest() + content)
        draft.rename(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def _refuse_foreign(path: str | Path, state: os.stat_result) -> None:
    if state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeError(
            f"{path}: another user may write it, so nothing in it is reused; correct its owner and "
            "mode, or remove it"
        )


def remove_old(directory: Path, kept: int) -> None:
    """Remove all but the newest entries or directories in a directory."""
    paths = sorted(directory.iterdir(), key=lambda path: path.lstat().st_mtime_ns, reverse=True)
    for path in paths[kept:]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
