"""Replaces a directory by another in one step, so that a crash leaves one of them whole in its
place."""

import ctypes
import errno
import os
import shutil
from pathlib import Path

from rules.bundle_format.seal import sync_directory

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


def replace_directory(new: Path, old: Path) -> None:
    """Put the directory `new` in the place of `old`, which is removed. Both lie in one directory.

    Raises OSError. Where the file system cannot exchange two names (NFS), two renames follow each
    other. A crash between them leaves the old directory under the name `.NAME.replaced`.
    """
    if _exchange(new, old):
        # The old content now has the name of the new one.
        sync_directory(old.parent)
        shutil.rmtree(new, ignore_errors=True)
        return
    aside = old.with_name(f".{old.name}.replaced")
    shutil.rmtree(aside, ignore_errors=True)
    old.rename(aside)
    new.rename(old)
    sync_directory(old.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange the names of two directories in one step. False if that is not supported here."""
    # Python has no function for it. glibc has it since 2.28, musl since 1.2.5.
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))
