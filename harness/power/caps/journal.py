"""The journal of the settings that a run changes.

The journal holds the limit and the power state that each accelerator had before the run, and the SM
clock at which the run locks it. It is written before anything is set, and removed when everything
is restored. It is one file in a state directory, beside a lock file. The owner of the journal holds
the lock as long as it lives, so only one run of a state directory sets limits at a time.

Runs can have different state directories: `harness.power.caps.registry` has the boards of all runs.
"""

import json
import os
import platform
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from harness.errors import MeterError, NotAllowedError
from harness.power.caps.host import read_boot_id
from harness.power.caps.limits import ABOUT_CAPS
from harness.power.caps.lock import (
    LOCK_FILE,
    LockedError,
    hold_lock,
    is_held,
    make_private_directory,
)
from harness.power.source import STATE_VARIABLE
from harness.power.sources import source_class
from rules.bundle_format.files import open_plain
from rules.bundle_format.seal import sync_directory, write_durable

JOURNAL_FILE = "caps.json"
FORMAT = "wattmark-caps/1"
GRACE_S = 3.0
"""How long to wait for the watchdog of another run to restore its limits, before a run or `restore`
is refused."""
_STEP_S = 0.05
BY_HAND = (
    "see with nvidia-smi -q -d POWER or amd-smi static --limit what the limits are, set them by "
    "hand, and remove"
)
_MAX_BYTES = 2**20
"""More than the journal of any node needs. An entry takes about 120 bytes."""


class BlockedError(MeterError):
    """Another run set the limits of this node, and it is running or did not restore them. No run on
    these boards can start."""


class DamagedError(BlockedError):
    """A journal cannot be read. It blocks runs, because the limits that it held are unknown."""

    def __init__(self, path: Path, reason: Exception) -> None:
        self.fault = f"{path}: the journal of power limits cannot be read ({reason})"
        super().__init__(
            f"{self.fault}; try: bench-submit restore, which uses its copy on this host; without a "
            f"copy, {BY_HAND} the file"
        )


@dataclass(frozen=True)
class SavedLimit:
    """The power limit in mW and the power state of an accelerator before the run. Each is None if
    the run does not change it. The names are those of the file."""

    uuid: str
    found_mw: int | None
    found_state: str | None
    locked_mhz: int | None = None
    """The SM clock at which the run locks the accelerator. None if it locks none. To restore the
    accelerator, the lock is removed, because no driver tells a lock that was there before."""


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
    boot_id: str | None = None
    """Of the host, which a container shares. None in journals of earlier versions."""

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
        try:
            # scripts/slurm-epilog.sh reads this too, and expects a line per field.
            write_durable(path, (json.dumps(asdict(self), indent=1) + "\n").encode())
            path.chmod(0o644)  # users who may not set a cap can read who does
            # The rename is durable only when the directory is on disk too.
            sync_directory(path.parent)
        except OSError as error:
            raise MeterError(
                f"{path}: the journal cannot be written ({error.strerror}), and nothing is "
                "set without one"
            ) from None

    @staticmethod
    def read(path: Path) -> "Journal | None":
        """Read the journal at `path`, None if there is none. Raises DamagedError if it is damaged,
        of another format or no regular file."""
        try:
            with open_plain(path) as file:
                return Journal.parse(file.read(_MAX_BYTES))
        # The usual case: nobody holds a limit.
        except (FileNotFoundError, NotADirectoryError):
            return None
        # The last three are raised by JSON of another shape, such as a list or an unknown field,
        # and RecursionError by deeply nested JSON.
        except (
            OSError,
            ValueError,
            RecursionError,
            TypeError,
            KeyError,
            AttributeError,
        ) as error:
            raise DamagedError(path, error) from None

    @staticmethod
    def parse(text: str | bytes) -> "Journal":
        """The journal in this JSON. Raises the errors that `read` explains."""
        document = json.loads(text)
        limits = tuple(SavedLimit(**entry) for entry in document.pop("accelerators"))
        journal = Journal(**document, accelerators=limits)
        if journal.format != FORMAT:
            raise ValueError(f"format {journal.format}, expected {FORMAT}")
        _check_types(journal, *limits)
        return journal

    def is_in_place_of_another(self, path: Path) -> bool:
        """Whether there is the journal of another run at `path`. It must not be replaced."""
        try:
            present = Journal.read(path)
        except BlockedError:
            return False
        return present is not None and not present.is_same_run(self)


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
    return Journal(
        meter, run_id, platform.node(), os.getpid(), now, accelerators, boot_id=read_boot_id()
    )


def state_directory(meter: str) -> Path | None:
    """The directory of the journal for the accelerators of `meter`. None for simulated boards that
    only one process sees. Raises MeterError."""
    directory = source_class(meter).journal_directory()
    # Without links: a link on the way could lead elsewhere after the directory was checked.
    try:
        return None if directory is None else directory.resolve()
    except (OSError, RuntimeError) as error:  # no working directory, a link that leads to itself
        raise MeterError(
            f"{directory}: the state directory cannot be resolved ({error}); name another one with "
            f"{STATE_VARIABLE}"
        ) from None


def refuse_any_limits(meter: str, timeout_s: float) -> None:
    """Raise BlockedError if there is still a journal in the state directory after `timeout_s`."""
    if (directory := state_directory(meter)) is not None:
        refuse_limits(directory / JOURNAL_FILE, None, timeout_s)


def refuse_limits(path: Path, uuids: Collection[str] | None, timeout_s: float) -> None:
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
                describe_running(path, journal) if is_running else _describe_dead(path, journal)
            )
        time.sleep(_STEP_S)


def refuse_stale_journal(path: Path) -> None:
    """Raise BlockedError if there is a journal at `path`. The caller holds the lock, so the owner
    of this journal has ended."""
    if (journal := Journal.read(path)) is not None:
        raise BlockedError(_describe_dead(path, journal))


def _describe_dead(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} has set power limits or clocks and is gone; restore them with: "
        "bench-submit restore"
    )


def describe_running(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} is running and holds the power limits of this node; wait for "
        "its end"
    )


def is_locked(directory: Path) -> bool:
    """Whether a run, `restore` or a watchdog holds the lock of a state directory."""
    return is_held(directory / LOCK_FILE)


@contextmanager
def lock_directory(
    directory: Path, timeout_s: float = GRACE_S, is_restoring: bool = False
) -> Iterator[None]:
    """Hold the lock of a directory while the block runs. Make the directory if needed.

    Raises BlockedError if another process holds the lock for longer than `timeout_s`,
    NotAllowedError or MeterError if the directory cannot be written or another user may write it.
    With `is_restoring` the block runs without the lock if only processes of other users hold it,
    or if the file system gives none, because it is read-only, full or failing.
    """
    with ExitStack() as stack:
        try:
            make_private_directory(directory)
            stack.enter_context(hold_lock(directory / LOCK_FILE, timeout_s, is_restoring))
        except LockedError as error:
            raise BlockedError(_describe_locked(directory, error)) from None
        except PermissionError as error:
            raise NotAllowedError(f"{error.filename}: may not be written; {ABOUT_CAPS}") from None
        except OSError as error:
            if not is_restoring:
                raise MeterError(
                    f"{error.filename}: cannot be written ({error.strerror}); name a directory of "
                    f"this node with {STATE_VARIABLE}"
                ) from None
        yield


def _describe_locked(directory: Path, error: LockedError) -> str:
    if error.foreign_holder is not None:
        return f"{directory / LOCK_FILE}: {error.foreign_holder} holds this lock; end this process"
    path = directory / JOURNAL_FILE
    # Who holds the lock counts, also beside a damaged journal.
    with suppress(DamagedError):
        if (journal := Journal.read(path)) is not None:
            return describe_running(path, journal)
    # A run writes its journal only after it has the lock, so there may be none yet.
    return (
        f"{directory}: another bench-submit is about to set the power limits of this node; wait "
        "for its end"
    )
