"""The journal of the power limits that a run changes: what each accelerator had before, written
before anything is set.

It is one file of a state directory, beside a lock that the journal's owner holds as long as it
lives. So one run of a node at a time sets limits.
"""

import fcntl
import json
import os
import platform
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from harness.power.sources import MeterError, NotAllowedError
from harness.run.preflight import ABOUT_CAPS

STATE_VARIABLE = "WATTMARK_STATE"
STATE = Path("/var/lib/wattmark")
JOURNAL_FILE = "caps.json"
FORMAT = "wattmark-caps/1"
GRACE_S = 3.0
"""How long to wait for another's watchdog that is about to restore, or doing it, before a run or
`restore` is refused."""
_STEP_S = 0.05
_LOCK_FILE = "caps.lock"


class BlockedError(MeterError):
    """The limits of this node are another run's, one that lives or one that has left them: no run
    on these boards can start."""


@dataclass(frozen=True)
class Found:
    """What an accelerator had before the run: its limit in mW and its power state, each None where
    the run leaves it alone."""

    uuid: str
    found_mw: int | None
    found_state: str | None


@dataclass(frozen=True)
class Journal:
    """What a run changes, and who it is; the file holds it as JSON."""

    meter: str
    run_id: str
    host: str
    pid: int
    started_at: str
    accelerators: tuple[Found, ...]
    format: str = FORMAT

    @property
    def owner(self) -> str:
        """As people are told of it."""
        return f"run {self.run_id} (process {self.pid}, begun {self.started_at})"

    def is_same(self, other: "Journal") -> bool:
        """Whether it is of the same run; what there is left to restore may differ."""
        return replace(self, accelerators=()) == replace(other, accelerators=())

    def write(self, path: Path) -> None:
        """Replace the file as a whole, and return when the disk has it. Raises MeterError; the file
        is then as it was."""
        draft = path.with_suffix(".writing")
        try:
            with draft.open("w") as file:
                file.write(json.dumps(asdict(self), indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(0o644)  # whoever may not set a cap should see who does
            draft.rename(path)
            sync(path.parent)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise MeterError(
                f"{path}: the journal cannot be written ({error.strerror}), and nothing is "
                "set without one"
            ) from None

    @staticmethod
    def at(path: Path) -> "Journal | None":
        """The journal at `path`, None where there is none. Raises BlockedError where it cannot be
        read or understood."""
        try:
            stored = json.loads(path.read_text())
            found = tuple(Found(**one) for one in stored.pop("accelerators"))
            journal = Journal(**stored, accelerators=found)
            if journal.format != FORMAT or not all(
                isinstance(one.found_mw, int | None) for one in found
            ):
                raise ValueError(f"format {journal.format}")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BlockedError(
                f"{path}: a journal of power limits is there that cannot be read "
                f"({error}); see with nvidia-smi -q -d POWER or "
                "amd-smi static --limit what the limits are, set them by hand, and remove the file"
            ) from None
        return journal

    def remove(self, path: Path) -> None:
        """Remove the file, and return when the disk knows."""
        path.unlink(missing_ok=True)
        sync(path.parent)


def begun(meter: str, run_id: str, accelerators: tuple[Found, ...]) -> Journal:
    """The journal of this process."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Journal(meter, run_id, platform.node(), os.getpid(), now, accelerators)


def state_directory(meter: str) -> Path | None:
    """Where the journal of this meter's boards lies; None for simulated boards that are within one
    process only."""
    if not meter.startswith("simulated"):
        return Path(os.environ.get(STATE_VARIABLE) or STATE)
    from harness.simulation.server import (
        VARIABLE,
    )  # brings numpy, which the watchdog of real boards does without

    socket = os.environ.get(VARIABLE)
    return Path(socket).parent if socket else None


def places() -> list[Path]:
    """The state directories of this node: of real boards, and of the simulator that
    WATTMARK_SIMULATOR names."""
    return [
        place
        for place in (state_directory("real"), state_directory("simulated"))
        if place is not None
    ]


def journals() -> list[Path]:
    """The journals that are in them."""
    return [path for place in places() if (path := place / JOURNAL_FILE).exists()]


def refuse(path: Path, uuids: Collection[str] | None, wait_s: float = 0.0) -> None:
    """BlockedError where, after `wait_s` at the latest, a journal at `path` still names one of
    these boards, None is any."""
    deadline_s = time.monotonic() + wait_s
    while (journal := Journal.at(path)) is not None and (
        uuids is None or any(one.uuid in uuids for one in journal.accelerators)
    ):
        if time.monotonic() >= deadline_s:
            raise BlockedError(
                _living(path, journal) if is_locked(path.parent) else _left(path, journal)
            )
        time.sleep(_STEP_S)


def refuse_left(path: Path) -> None:
    """BlockedError where a journal is at `path`; for whoever holds the lock, so that its owner must
    be gone."""
    if (journal := Journal.at(path)) is not None:
        raise BlockedError(_left(path, journal))


def _left(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} has set power limits and is gone; restore them with: "
        "bench-submit restore"
    )


def _living(path: Path, journal: Journal) -> str:
    return (
        f"{path}: {journal.owner} lives and holds the power limits of this node; wait for its end"
    )


def is_locked(directory: Path) -> bool:
    """Whether a process holds the lock; asked by a shared one, for which the file need not be
    writable."""
    try:
        with (directory / _LOCK_FILE).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file, or none that may be read
        return False
    return False


@contextmanager
def locked(directory: Path, wait_s: float = GRACE_S) -> Iterator[None]:
    """Hold the lock of a state directory while the block runs. Raises BlockedError where another
    has it for longer than that."""
    try:
        if not directory.exists():
            directory.mkdir(parents=True)
            directory.chmod(0o755)
        lock = (directory / _LOCK_FILE).open("a")
    except PermissionError as error:
        raise NotAllowedError(f"{error.filename}: may not be written; {ABOUT_CAPS}") from None
    except OSError as error:
        raise MeterError(
            f"{error.filename}: cannot be written ({error.strerror}); name a directory of "
            f"this node with {STATE_VARIABLE}"
        ) from None
    with lock:
        deadline_s = time.monotonic() + wait_s
        while not _taken(lock):
            if time.monotonic() >= deadline_s:
                path = directory / JOURNAL_FILE
                about = (
                    f"{directory}: another bench-submit is about to set the power limits of "
                    "this node; wait for its end"
                )
                raise BlockedError(
                    about if (journal := Journal.at(path)) is None else _living(path, journal)
                )
            time.sleep(_STEP_S)
        yield


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync(directory: Path) -> None:
    """Return when the disk has the directory's own entries: what was renamed into it, or
    removed."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
