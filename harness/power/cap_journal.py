"""The journal of the power limits that a run changes.

The journal holds the limit and the power state that each accelerator had before the run. It is
written before anything is set, and removed when everything is restored. It is one file in a state
directory, beside a lock file. The owner of the journal holds the lock as long as it lives, so only
one run of a node sets limits at a time.
"""

import fcntl
import json
import os
import platform
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

from harness.power.limits import ABOUT_CAPS
from harness.power.source import STATE_VARIABLE, MeterError, NotAllowedError
from harness.power.sources import source_class, source_names
from rules.bundle_format.files import open_plain

JOURNAL_FILE = "caps.json"
FORMAT = "wattmark-caps/1"
GRACE_S = 3.0
"""How long to wait for the watchdog of another run to restore its limits, before a run or `restore`
is refused."""
_STEP_S = 0.05
_MAX_BYTES = 2**20
"""More than the journal of any node needs. An entry takes about 120 bytes."""
_LOCK_FILE = "caps.lock"


class BlockedError(MeterError):
    """Another run set the limits of this node, and it is running or did not restore them. No run on
    these boards can start."""


@dataclass(frozen=True)
class SavedLimit:
    """The power limit in mW and the power state of an accelerator before the run. Each is None if
    the run does not change it. The names are those of the file."""

    uuid: str
    found_mw: int | None
    found_state: str | None


@dataclass(frozen=True)
class Journal:
    """What a run changes, and which process does so. The file holds it as JSON."""

    meter: str
    run_id: str
    host: str
    pid: int
    started_at: str
    accelerators: tuple[SavedLimit, ...]
    format: str = FORMAT

    @property
    def owner(self) -> str:
        """The run and its process, for messages."""
        return f"run {self.run_id} (process {self.pid}, begun {self.started_at})"

    def is_same_run(self, other: "Journal") -> bool:
        """Whether both journals are of the same run. The boards left to restore may differ."""
        return replace(self, accelerators=()) == replace(other, accelerators=())

    def write(self, path: Path) -> None:
        """Replace the file and return when it is on disk.

        Raises MeterError; the file then has its former content.
        """
        # A rename within one directory is atomic: a reader sees the former or the new journal.
        draft = path.with_suffix(".writing")
        try:
            with draft.open("w") as file:
                file.write(json.dumps(asdict(self), indent=1) + "\n")
                file.flush()
                # Without this, a power failure after the rename can leave an empty journal.
                os.fsync(file.fileno())
            draft.chmod(0o644)  # users who may not set a cap can read who does
            draft.rename(path)
            # A rename is durable only when the directory is on disk too.
            sync_directory(path.parent)
        except OSError as error:
            # A full disk leaves a partial draft.
            draft.unlink(missing_ok=True)
            raise MeterError(
                f"{path}: the journal cannot be written ({error.strerror}), and nothing is "
                "set without one"
            ) from None

    @staticmethod
    def read(path: Path) -> "Journal | None":
        """Read the journal at `path`, None if there is none. Raises BlockedError if it is damaged,
        of another format or no regular file."""
        try:
            with open_plain(path) as file:
                document = json.loads(file.read(_MAX_BYTES))
            limits = tuple(SavedLimit(**entry) for entry in document.pop("accelerators"))
            journal = Journal(**document, accelerators=limits)
            if journal.format != FORMAT:
                raise ValueError(f"format {journal.format}, expected {FORMAT}")
            _check_types(journal, *limits)
        # The usual case: nobody holds a limit.
        except FileNotFoundError:
            return None
        # The last three are raised by JSON of another shape, such as a list or an unknown field,
        # and RecursionError by deeply nested JSON. A damaged journal blocks runs, because the
        # limits that it held are unknown.
        except (
            OSError,
            ValueError,
            RecursionError,
            TypeError,
            KeyError,
            AttributeError,
        ) as error:
            raise BlockedError(
                f"{path}: the journal of power limits cannot be read "
                f"({error}); see with nvidia-smi -q -d POWER or "
                "amd-smi static --limit what the limits are, set them by hand, and remove the file"
            ) from None
        return journal

    def remove(self, path: Path) -> None:
        """Remove the file and return when the removal is on disk."""
        path.unlink(missing_ok=True)
        sync_directory(path.parent)


def _check_types(*records: Journal | SavedLimit) -> None:
    """Raises ValueError if a field has a value of another type.

    Dataclasses do not check types. Another type would fail later, while limits are restored.
    """
    for record in records:
        for field in fields(record):
            value = getattr(record, field.name)
            # A tuple is a list of records, which are checked themselves.
            if not isinstance(value, tuple) and (
                # JSON's `true` is an integer of Python.
                isinstance(value, bool) or not isinstance(value, cast(type, field.type))
            ):
                raise ValueError(f"{field.name} is {value!r:.80}, expected {field.type}")


def new_journal(meter: str, run_id: str, accelerators: tuple[SavedLimit, ...]) -> Journal:
    """A journal that this process owns."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Journal(meter, run_id, platform.node(), os.getpid(), now, accelerators)


def state_directory(meter: str) -> Path | None:
    """The directory of the journal for the accelerators of `meter`. None for simulated boards that
    only one process sees."""
    return source_class(meter).journal_directory()


def state_directories() -> list[Path]:
    """The state directories of this node: that of its accelerators, and that of the simulator if
    WATTMARK_SIMULATOR names one."""
    directories = []
    for name in source_names():
        try:
            directory = state_directory(name)
        except MeterError:  # a source file with a mistake in it has set no cap
            continue
        if directory is not None and directory not in directories:
            directories.append(directory)
    return directories


def journal_paths() -> list[Path]:
    """The journals of this node."""
    paths = [directory / JOURNAL_FILE for directory in state_directories()]
    return [path for path in paths if path.exists()]


def refuse_foreign_limits(
    path: Path, uuids: Collection[str] | None, timeout_s: float = 0.0
) -> None:
    """Raise BlockedError if the journal at `path` still names one of these boards after
    `timeout_s`. `uuids` None stands for any board."""
    deadline_s = time.monotonic() + timeout_s
    while (journal := Journal.read(path)) is not None and (
        uuids is None or any(limit.uuid in uuids for limit in journal.accelerators)
    ):
        if time.monotonic() >= deadline_s:
            # The owner holds the lock as long as it lives. A process id could be reused.
            is_running = is_locked(path.parent)
            raise BlockedError(
                _describe_running(path, journal) if is_running else _describe_dead(path, journal)
            )
        time.sleep(_STEP_S)


def refuse_stale_journal(path: Path) -> None:
    """Raise BlockedError if there is a journal at `path`. The caller holds the lock, so the owner
    of this journal has ended."""
    if (journal := Journal.read(path)) is not None:
        raise BlockedError(_describe_dead(path, journal))


def _describe_dead(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} has set power limits and is gone; restore them with: "
        "bench-submit restore"
    )


def _describe_running(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} is running and holds the power limits of this node; wait for "
        "its end"
    )


def is_locked(directory: Path) -> bool:
    """Whether a process holds the lock of a state directory.

    Tries a shared lock, because several processes may ask at once, and because it takes no right to
    write the file.
    """
    try:
        with (directory / _LOCK_FILE).open() as lock:
            # Closing the file releases the lock.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no lock file, or this user may not read it
        return False
    return False


@contextmanager
def lock_directory(directory: Path, timeout_s: float = GRACE_S) -> Iterator[None]:
    """Hold the lock of a state directory while the block runs.

    Raises BlockedError if another process holds it for longer than `timeout_s`, NotAllowedError or
    MeterError if the directory cannot be written.
    """
    try:
        if not directory.exists():
            directory.mkdir(parents=True)
            # The umask of root may be strict. All users must be able to read who holds the limits.
            directory.chmod(0o755)
        # Mode "a" creates the file if needed and never changes it. The file is not removed
        # afterwards: another process could hold a lock on the removed file.
        lock = (directory / _LOCK_FILE).open("a")
    except PermissionError as error:
        raise NotAllowedError(f"{error.filename}: may not be written; {ABOUT_CAPS}") from None
    except OSError as error:
        raise MeterError(
            f"{error.filename}: cannot be written ({error.strerror}); name a directory of "
            f"this node with {STATE_VARIABLE}"
        ) from None
    with lock:
        deadline_s = time.monotonic() + timeout_s
        # Poll instead of a blocking flock, which has no timeout.
        while not _try_lock(lock):
            if time.monotonic() >= deadline_s:
                # The holder writes its journal only after it has the lock, so there may be none
                # yet.
                path = directory / JOURNAL_FILE
                journal = Journal.read(path)
                raise BlockedError(
                    f"{directory}: another bench-submit is about to set the power limits of "
                    "this node; wait for its end"
                    if journal is None
                    else _describe_running(path, journal)
                )
            time.sleep(_STEP_S)
        yield


def _try_lock(lock: IO[str]) -> bool:
    try:
        # The kernel releases a flock when its holder ends, also by SIGKILL.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_directory(directory: Path) -> None:
    """Return when the entries of a directory (files renamed into it or removed) are on disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
