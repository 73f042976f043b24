"""The LOG: which bundle was accepted when, and by which version of the rule book.

`submissions/LOG` is a file of lines that is only ever appended to. Each line is a JSON object
(`log-entry-1.json`) and holds the SHA-256 of the line before, so that no line can be changed,
dropped or moved without breaking the chain after it. What the chain cannot show is that lines at
its end are missing: that takes somebody who knows the hash of the last one, the head.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from rules import RELEASED
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, read_plain, refused, shortened
from rules.bundle_format.records import ACCEPTANCE_FILE, LOG_ENTRY_FORMAT, Json
from rules.bundle_format.seal import write_durable
from rules.finding import Problem
from rules.rule_ids import ACCEPTANCE_CONTRADICTS_BUNDLE, ACCEPTED_BUNDLE_MISSING, LOG_BROKEN

START = "0" * 64
"""What the first line has for the hash of the line before."""
ACCEPTED, WITHDRAWN = "accepted", "withdrawn"
MAX_LOG_BYTES = 64 * 2**20
_APART = timedelta(days=1)
"""How far the clocks of a node, of who accepts and of who checks may be apart."""


@dataclass(frozen=True)
class Entry:
    """One line of the LOG."""

    line: int
    """Its number, from 1."""
    at: str
    event: str
    path: str
    """The bundle's directory below `submissions/`, with `/` between its parts."""
    manifest_sha256: str
    rules_version: str


@dataclass(frozen=True)
class Log:
    """What the LOG says. Where anything is wrong with it (`problems`), it says nothing: there are
    no entries then."""

    accepted: Mapping[str, Entry] = field(default_factory=dict)
    """By path."""
    withdrawn: Mapping[str, Entry] = field(default_factory=dict)
    """By path; a bundle that was withdrawn was accepted before."""
    lines: int = 0
    head: str = START
    """The hash of the last line. Whoever wrote it down elsewhere notices when lines at the end go
    missing."""
    problems: tuple[Problem, ...] = ()


def read_log(submissions: Path) -> Log:
    """The LOG of the directory `submissions`, an empty one where there is none; read once for as
    long as the file stays."""
    path = submissions / ACCEPTANCE_FILE
    try:
        stat = path.lstat()
    except FileNotFoundError:
        return Log()
    except OSError:
        return _read(path, None)
    return _read(path, (stat.st_ino, stat.st_ctime_ns, stat.st_size))


@lru_cache(maxsize=64)
def _read(path: Path, _: object) -> Log:
    try:
        return _chain(read_plain(path, ACCEPTANCE_FILE, MAX_LOG_BYTES))
    except Refused as refusal:
        return Log(problems=refusal.problems)


def _chain(raw: bytes) -> Log:
    """The LOG in these bytes. Raises Refused for the first thing that is wrong: what follows it is
    not to be trusted."""
    accepted: dict[str, Entry] = {}
    withdrawn: dict[str, Entry] = {}
    head, at = START, ""
    book: tuple[int, ...] = (0,)
    latest = (datetime.now(UTC) + _APART).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = raw.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            raise _broken(
                number,
                "a line without an end",
                "a line that ends with a newline",
                "The LOG was cut here.",
            )
        try:
            entry = read_document(ACCEPTANCE_FILE, line, LOG_ENTRY_FORMAT)
        except Refused as refusal:
            raise _broken(
                number,
                refusal.problems[0].violation.found,
                refusal.problems[0].violation.expected,
                "",
            ) from None
        if entry["previous"] != head:
            message = "A line was changed, dropped, moved or put in."
            raise _broken(
                number,
                f"previous is {entry['previous']}",
                f"the hash of the line before, {head}",
                message,
            )
        if entry["at"] < at:
            raise _broken(
                number,
                f"at is {entry['at']}",
                f"not before the line before, {at}",
                "A log is written forwards.",
            )
        if entry["at"] > latest:
            raise _broken(
                number,
                f"at is {entry['at']}",
                f"at most {latest}, a day from now",
                "Nobody has accepted it yet.",
            )
        if entry["rules_version"] not in RELEASED:
            message = "There is no such rule book, or it is younger than this bench-check."
            raise _broken(
                number,
                f"rules_version is {entry['rules_version']}",
                f"one of {', '.join(RELEASED)}",
                message,
            )
        if (of := version_of(entry["rules_version"])) < book:
            expected = "one not older than that of the line before"
            raise _broken(
                number,
                f"rules_version is {entry['rules_version']}",
                expected,
                "Nobody accepts by an old rule book.",
            )
        head, at, book = hashlib.sha256(line).hexdigest(), entry["at"], of
        met = Entry(
            number,
            at,
            entry["event"],
            entry["path"],
            entry["manifest_sha256"],
            entry["rules_version"],
        )
        _take(met, accepted, withdrawn)
    return Log(accepted, withdrawn, len(lines), head)


def _take(entry: Entry, accepted: dict[str, Entry], withdrawn: dict[str, Entry]) -> None:
    before = accepted.get(entry.path)
    if entry.event == ACCEPTED:
        if before is not None:
            found = f"{shortened(entry.path)} is accepted again, after line {before.line}"
            raise _broken(
                entry.line,
                found,
                "each directory once",
                "A run that is made anew has a directory of its own.",
            )
        accepted[entry.path] = entry
        return
    if before is None or before.manifest_sha256 != entry.manifest_sha256 or entry.path in withdrawn:
        found = f"{shortened(entry.path)} is withdrawn"
        raise _broken(
            entry.line,
            found,
            "a bundle that stands by an earlier line",
            "Only what was accepted can be withdrawn, once.",
        )
    withdrawn[entry.path] = entry


def version_of(text: str) -> tuple[int, ...]:
    """A version such as 1.3.0, to be compared with others."""
    return tuple(int(number) for number in text.split("."))


def line_of(
    previous: str, at: str, event: str, path: str, manifest_sha256: str, rules_version: str
) -> bytes:
    """A line of the LOG, to be put behind the one with the hash `previous` (`START` for the
    first)."""
    entry = {
        "format": LOG_ENTRY_FORMAT,
        "previous": previous,
        "at": at,
        "event": event,
        "path": path,
        "manifest_sha256": manifest_sha256,
        "rules_version": rules_version,
    }
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode(errors="surrogateescape")


def append(submissions: Path, head: str, entries: Iterable[tuple[str, str, str, str, str]]) -> Log:
    """Append lines of (at, event, path, manifest_sha256, rules_version) to the LOG that ends with
    `head`; returns the LOG since.

    The file is there as it was or with all lines. Raises Refused where it does not end with `head`,
    or the lines do not fit behind it, and OSError where it cannot be written.
    """
    path = submissions / ACCEPTANCE_FILE
    directory = os.open(submissions, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        before = read_plain(path, ACCEPTANCE_FILE, MAX_LOG_BYTES) if os.path.lexists(path) else b""
        present = _chain(before)
        if present.head != head:
            message = "Somebody else has appended to it. Run the command again."
            raise _broken(
                present.lines, f"the LOG ends with {present.head}", f"it ends with {head}", message
            )
        text = before
        for entry in entries:
            line = line_of(head, *entry)
            text, head = text + line, hashlib.sha256(line).hexdigest()
        after = _chain(text)
        write_durable(path, text)
        os.fsync(directory)
    finally:
        os.close(directory)
    return after


def contradictions(entry: Entry, claimed: Json) -> Iterator[Problem]:
    """What a bundle's result.json (`claimed`) says that cannot be, if the bundle was accepted as
    `entry` says."""
    try:
        ended_at, book = str(claimed["ended_at"]), str(claimed["rules_version"])
        late = datetime.fromisoformat(ended_at) > datetime.fromisoformat(entry.at) + _APART
        younger = version_of(book) > version_of(entry.rules_version)
    except (LookupError, TypeError, ValueError, OverflowError):
        return  # it is not of its form, and no acceptance lifts that
    by = f"line {entry.line} of the {ACCEPTANCE_FILE}"
    message = (
        "The acceptance does not count for this bundle. Restore the LOG from the repository's "
        "history."
    )
    if late:
        found = f"{ended_at}, but accepted {entry.at} ({by})"
        yield from refused(
            ACCEPTANCE_CONTRADICTS_BUNDLE,
            "result.json",
            "/ended_at",
            found,
            "a run that ended before",
            message,
        ).problems
    if younger:
        found = f"{book}, but accepted under {entry.rules_version} ({by})"
        yield from refused(
            ACCEPTANCE_CONTRADICTS_BUNDLE,
            "result.json",
            "/rules_version",
            found,
            "an acceptance by that book or a later one",
            message,
        ).problems


def missing(log: Log, below: str, present: Container[str]) -> Iterator[Problem]:
    """The bundles that the LOG knows at or below the path `below` (all where it is empty) and that
    are not among `present`."""
    for path, entry in log.accepted.items():
        inside = not below or path == below or path.startswith(f"{below}/")
        if inside and path not in present:
            expected = f"the bundle with the manifest {entry.manifest_sha256}, accepted {entry.at}"
            message = (
                "What was accepted stays, also when it is withdrawn. Restore it; a bundle that "
                "no longer stands is withdrawn."
            )
            found = f"no bundle in {shortened(path)}"
            yield from refused(
                ACCEPTED_BUNDLE_MISSING,
                ACCEPTANCE_FILE,
                f"line {entry.line}",
                found,
                expected,
                message,
            ).problems


def _broken(line: int, found: str, expected: str, why: str) -> Refused:
    message = (
        f"{why} Restore the LOG from the repository's history. While it is broken it speaks "
        "for no bundle."
    ).strip()
    return refused(LOG_BROKEN, ACCEPTANCE_FILE, f"line {line}", found, expected, message)
