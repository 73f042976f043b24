"""The directory of an unfinished study: `.STUDY_ID.running`, beside its future bundle.

    plan.json                           what is measured and how
    log.txt                             the log of all sessions
    base/                               a copy of the bundle that the study continues
    sessions/N/session.json             boards, settings and times of a session
    sessions/N/boards/I/samples.csv     the samples of a board
    sessions/N/entries/NNNNN.json       one file for each finished entry

Samples and log grow. Every other file is complete or does not exist. The process that measures
holds a lock on the directory, which ends with the process.
"""

import json
import shutil
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import PlanError
from harness.power.sampler import SAMPLES_FILE
from harness.studies.plan import BoardIdle, SessionRecord
from harness.studies.records import EntryRecord
from rules.bundle_format.records import Json
from rules.bundle_format.seal import sync_directory, write_durable
from rules.json_record import from_json, to_json

LOG_FILE = "log.txt"
BASE_DIRECTORY = "base"
_SESSIONS_DIRECTORY = "sessions"
_SESSION_FILE = "session.json"
_ENTRIES_DIRECTORY = "entries"
_BOARDS_DIRECTORY = "boards"


class SessionDirectory:
    """The files of a session. Several threads may use it."""

    def __init__(self, directory: Path, record: SessionRecord) -> None:
        self.directory, self.record = directory, record
        self._entries = directory / _ENTRIES_DIRECTORY
        self._lock = threading.Lock()
        self._count = 0

    @staticmethod
    def create(study_directory: Path, record: SessionRecord) -> "SessionDirectory":
        """Create the directory of a new session. Raises OSError."""
        directory = study_directory / _SESSIONS_DIRECTORY / str(record.plan.number)
        session = SessionDirectory(directory, record)
        session._entries.mkdir(parents=True)
        session.change()
        sync_directory(directory)
        return session

    @staticmethod
    def load(directory: Path) -> "SessionDirectory":
        """Read the record of the session in `directory`. Raises PlanError."""
        path = directory / _SESSION_FILE
        try:
            record = from_json(SessionRecord, json.loads(path.read_text()))
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None
        return SessionDirectory(directory, record)

    def change(self, **changes: Any) -> None:
        """Change fields of the record of the session, and write it. Raises OSError."""
        with self._lock:
            self._save(**changes)

    def _save(self, **changes: Any) -> None:
        self.record = replace(self.record, **changes)
        _write_json(self.directory / _SESSION_FILE, to_json(self.record))

    def add_board(
        self, readback: Json, idle: BoardIdle | None, versions: Mapping[str, str | None]
    ) -> None:
        """Record a board that begins: its limits and state, its idle power, and the versions of
        the libraries of its worker. Raises OSError."""
        with self._lock:
            idles = dict(self.record.idle)
            if idle is not None:
                idles[readback["accelerator"]] = idle
            readbacks = (*self.record.readbacks, readback)
            self._save(idle=idles, versions=versions, readbacks=readbacks)

    def add_readback(self, readback: Json) -> None:
        """Record limits and state of a board. Raises OSError."""
        with self._lock:
            self._save(readbacks=(*self.record.readbacks, readback))

    def add_entry(self, record: EntryRecord) -> None:
        """Write a finished entry. Raises OSError."""
        with self._lock:
            path = self._entries / f"{self._count:05d}.json"
            self._count += 1
        _write_json(path, to_json(record))
        sync_directory(self._entries)

    def make_board_directory(self, index: int) -> Path:
        """Create the directory for the samples of the board with this number in the session."""
        directory = self.directory / _BOARDS_DIRECTORY / str(index)
        directory.mkdir(parents=True)
        return directory

    def list_sample_files(self) -> list[Path]:
        """The files of samples, one for each board."""
        return sorted(self.directory.glob(f"{_BOARDS_DIRECTORY}/*/{SAMPLES_FILE}"))

    def load_entries(self) -> list[EntryRecord]:
        """Read the finished entries in the order in which they began. Raises PlanError."""
        return _load_entries(self.directory)


def list_sessions(study_directory: Path) -> list[SessionDirectory]:
    """The sessions of an unfinished study in their order. Raises PlanError."""
    directories = (study_directory / _SESSIONS_DIRECTORY).glob("*")
    return [
        SessionDirectory.load(directory)
        for directory in sorted(directories, key=lambda directory: int(directory.name))
    ]


def remove_empty_sessions(study_directory: Path) -> None:
    """Remove sessions that ended before their first entry, so that the next one has their number.
    Raises PlanError."""
    for directory in (study_directory / _SESSIONS_DIRECTORY).glob("*"):
        if all(record.is_anchor for record in _load_entries(directory)):
            shutil.rmtree(directory)


def _load_entries(session_directory: Path) -> list[EntryRecord]:
    records = []
    for path in (session_directory / _ENTRIES_DIRECTORY).glob("*.json"):
        try:
            records.append(from_json(EntryRecord, json.loads(path.read_text())))
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None
    return sorted(records, key=lambda record: record.start_ns)


def _write_json(path: Path, document: Json) -> None:
    write_durable(path, (json.dumps(document) + "\n").encode())


def _refuse(path: Path, error: Exception) -> PlanError:
    return PlanError(
        f"{path}: cannot be read ({error}); was it written by another version of wattmark?"
    )
