"""Private directories, and the locks in them: what only one user may change, so that no other user
of the node can keep power limits from being set or restored."""

import fcntl
import os
import pwd
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MeterError
from rules.bundle_format.files import open_plain

LOCK_FILE = "caps.lock"
_STEP_S = 0.05
_PROC = Path("/proc")


class LockedError(Exception):
    """Other processes hold a lock."""

    def __init__(self, holders: "tuple[LockHolder, ...]") -> None:
        super().__init__()
        self.foreign_holder = holders[0] if _are_foreign(holders) else None
        """A process that holds the lock, if all that hold it are of other users."""


@dataclass(frozen=True)
class LockHolder:
    """A process that holds a lock."""

    pid: int
    uid: int

    @property
    def is_foreign(self) -> bool:
        """Whether the process belongs to another user than this process and root. A lock file has
        mode 0600, so wattmark never runs as such a user."""
        return self.uid not in (0, os.geteuid())

    def __str__(self) -> str:
        return f"process {self.pid} of the user {name_user(self.uid)}"


def make_private_directory(directory: Path) -> None:
    """Make `directory` and its parents if needed, readable for all users.

    Raises MeterError if another user can change its entries or replace it, and OSError if it cannot
    be made. Otherwise root could follow a link of that user and overwrite any file.
    """
    # From the top: whoever can change a directory can replace those below it.
    for place in reversed((directory, *directory.parents)):
        if place.is_dir():
            _refuse_shared(place, is_parent=place != directory)
        elif not place.exists():
            place.mkdir()
            # Whatever the umask: all users must be able to read who holds the limits, and none to
            # write.
            place.chmod(0o755)


def _refuse_shared(place: Path, is_parent: bool) -> None:
    status = place.stat()
    # In a user namespace the files of root belong to another number, as these do.
    root = (_PROC / "sys").stat().st_uid
    # The owner of a link can change where it leads.
    for owner in (status.st_uid, place.lstat().st_uid):
        if owner not in (os.geteuid(), root):
            raise MeterError(
                f"{place}: belongs to the user {name_user(owner)}, who could keep power limits "
                "from being restored; name a directory of your own with WATTMARK_STATE"
            )
    # In a directory with the sticky bit, such as /tmp, users cannot replace entries of others.
    is_sticky = is_parent and status.st_mode & stat.S_ISVTX
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky:
        raise MeterError(
            f"{place}: other users may write to this directory, and could keep power limits from "
            f"being restored; use chmod go-w {place}, or name another directory with WATTMARK_STATE"
        )


def name_user(uid: int) -> str:
    """The name of a user, or the number if there is no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextmanager
def hold_lock(path: Path, timeout_s: float, despite_other_users: bool = False) -> Iterator[None]:
    """Hold the lock file `path` while the block runs.

    Raises LockedError if other processes hold it for longer than `timeout_s`, and OSError. With
    `despite_other_users` the block runs without the lock if only processes of other users hold it.
    """
    # Mode 0600: a flock takes only the right to read the file. The file is not removed afterwards:
    # another process could hold a lock on the removed file.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # Earlier versions made the file readable for all users.
        os.fchmod(descriptor, 0o600)
        deadline_s = time.monotonic() + timeout_s
        # Poll instead of a blocking flock, which has no timeout.
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline_s:
                holders = find_holders(path)
                if despite_other_users and _are_foreign(holders):
                    break
                raise LockedError(holders)
            time.sleep(_STEP_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        # The kernel releases a flock when its holder ends, also by SIGKILL.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(path: Path) -> bool:
    """Whether a process, other than those of other users, holds the lock file `path`."""
    try:
        # A shared lock, because several processes may ask at once.
        with open_plain(path) as lock:
            # Closing the file releases the lock.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return not _are_foreign(find_holders(path))
    except PermissionError:
        # Only its owner can open the lock. The kernel's list of locks shows it to all users.
        with suppress(OSError):
            return _is_listed(path.stat().st_ino, (_PROC / "locks").read_text())
    except OSError:  # there is no lock file, or something else in its place
        pass
    return False


def find_holders(path: Path) -> tuple[LockHolder, ...]:
    """The processes that hold the lock file `path`, as far as this process can see them.

    The descriptors of each process show the locks on them (proc(5), /proc/PID/fdinfo). The list
    /proc/locks is not enough: it names the process that took the lock, also when that process has
    passed it on and has ended.
    """
    inode = path.stat().st_ino
    holders = []
    for process in _PROC.glob("[0-9]*"):
        # The process may end meanwhile. Only root may look at the processes of others.
        with suppress(OSError):
            if any(_is_listed(inode, _read(file)) for file in (process / "fdinfo").iterdir()):
                # The real user: a user can start programs that run as root.
                uid = _read(process / "status").split("\nUid:")[1].split()[0]
                holders.append(LockHolder(int(process.name), int(uid)))
    return tuple(holders)


def _read(file: Path) -> str:
    """The text of a file about a process. A process can give itself a name of any bytes."""
    return file.read_text(errors="replace")


def _is_listed(inode: int, locks: str) -> bool:
    """Whether lines of /proc/locks or /proc/PID/fdinfo list a flock on a file of this inode."""
    # Only the inode: file systems such as btrfs show another device here than stat(2) does.
    return any("FLOCK" in line and f":{inode} " in line for line in locks.splitlines())


def _are_foreign(holders: tuple[LockHolder, ...]) -> bool:
    """Whether holders were found and all are of other users. Without any, a process that cannot be
    seen from here holds the lock, as one outside of a container."""
    return bool(holders) and all(holder.is_foreign for holder in holders)
