"""The LOG: which bundle was accepted when, and under which version of the rule book, and which
center committed to a bundle before.

Lines are only ever appended to `submissions/LOG`. Each line is a JSON object (`log-entry-1.json`)
with the SHA-256 of the line before, so a line that is changed, removed or moved breaks the chain.
The chain cannot show that lines at its end are missing. To notice that, compare the hash of the
last line, the head, with one that was published.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from rules import RELEASED
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, build_refusal, read_plain, shorten
from rules.bundle_format.records import ACCEPTANCE_FILE, LOG_ENTRY_FORMAT, Json
from rules.bundle_format.seal import write_durable
from rules.finding import Problem
from rules.rule_ids import ACCEPTANCE_CONTRADICTS_BUNDLE, ACCEPTED_BUNDLE_MISSING, LOG_BROKEN

START = "0" * 64
"""What the first line has for the hash of the line before."""
ACCEPTED, WITHDRAWN, COMMITTED = "accepted", "withdrawn", "committed"
MAX_LOG_BYTES = 64 * 2**20
_CLOCK_TOLERANCE = timedelta(days=1)
"""How far the clocks of the node, of the person who accepts and of the one who checks may
differ."""


@dataclass(frozen=True)
class LogEntry:
    """What a line of the LOG records."""

    at: str
    """The time in UTC, such as 2026-11-21T17:00:00Z."""
    event: str
    """`ACCEPTED`, `WITHDRAWN` or `COMMITTED`."""
    path: str
    """The bundle's directory below `submissions/`, with `/` between its parts; the center's for a
    commitment."""
    manifest_sha256: str
    rules_version: str
    reason: str = ""
    """Why the bundle was accepted without a review, or despite findings that bar winning; empty if
    no reason was needed."""


@dataclass(frozen=True)
class LogLine(LogEntry):
    """A line of the LOG."""

    number: int = field(kw_only=True)
    """From 1."""


@dataclass(frozen=True)
class AcceptanceLog:
    """The content of the LOG. If it has any problem, it has no entries: none of them counts."""

    accepted: Mapping[str, LogLine] = field(default_factory=dict)
    """By path."""
    withdrawn: Mapping[str, LogLine] = field(default_factory=dict)
    """By path; a bundle that was withdrawn was accepted before."""
    committed: Mapping[tuple[str, str], LogLine] = field(default_factory=dict)
    """By center, in lower case, and SHA-256 of the manifest."""
    hashes: tuple[str, ...] = ()
    """The hash of each line."""
    problems: tuple[Problem, ...] = ()

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.hashes)

    @property
    def head(self) -> str:
        """The hash of the last line. Whoever wrote it down elsewhere notices when lines at the end
        are missing."""
        return self.hashes[-1] if self.hashes else START


def read_log(submissions: Path) -> AcceptanceLog:
    """Read the LOG of the directory `submissions`; empty if there is none. The result is cached
    until the file changes."""
    path = submissions / ACCEPTANCE_FILE
    try:
        stat = path.lstat()
    except FileNotFoundError:
        return AcceptanceLog()
    except OSError:
        return _read_cached(path, None)
    # The kernel sets the time of change (ctime). Unlike mtime, no program can set it back.
    return _read_cached(path, (stat.st_ino, stat.st_ctime_ns, stat.st_size))


@lru_cache(maxsize=64)
def _read_cached(path: Path, _state: object) -> AcceptanceLog:
    """The LOG at `path`. The state of the file is part of the key of the cache."""
    # Every bundle of a round asks for the LOG: read it once per process.
    try:
        return _parse_log(read_plain(path, ACCEPTANCE_FILE, MAX_LOG_BYTES))
    except Refused as refusal:
        return AcceptanceLog(problems=refusal.problems)


def _parse_log(raw: bytes) -> AcceptanceLog:
    """The LOG in these bytes. Raises Refused for the first problem, since nothing after it can be
    trusted."""
    accepted: dict[str, LogLine] = {}
    withdrawn: dict[str, LogLine] = {}
    committed: dict[tuple[str, str], LogLine] = {}
    hashes: list[str] = []
    previous = None
    latest = (datetime.now(UTC) + _CLOCK_TOLERANCE).strftime("%Y-%m-%dT%H:%M:%SZ")
    # With line ends, because the hash covers the bytes of the line as they are.
    for number, raw_line in enumerate(raw.splitlines(keepends=True), start=1):
        line = _parse_line(number, raw_line, hashes[-1] if hashes else START)
        _check_order(line, previous, latest)
        if line.event == COMMITTED:
            _add_commitment(line, committed)
        else:
            _add_line(line, accepted, withdrawn)
        hashes.append(hashlib.sha256(raw_line).hexdigest())
        previous = line
    return AcceptanceLog(accepted, withdrawn, committed, tuple(hashes))


def _parse_line(number: int, raw: bytes, head: str) -> LogLine:
    """The line in these bytes, which must contain `head`, the hash of the line before."""
    if not raw.endswith(b"\n"):
        raise _broken(
            number,
            "a line without an end",
            "a line that ends with a newline",
            "The LOG was cut here.",
        )
    try:
        record = read_document(ACCEPTANCE_FILE, raw, LOG_ENTRY_FORMAT)
    except Refused as refusal:
        violation = refusal.problems[0].violation
        raise _broken(number, violation.found, violation.expected, "") from None
    if record["previous"] != head:
        raise _broken(
            number,
            f"previous is {record['previous']}",
            f"the hash of the line before, {head}",
            "A line was changed, removed, moved or inserted.",
        )
    stated = {key.name: record[key.name] for key in fields(LogEntry) if key.name in record}
    return LogLine(**stated, number=number)


def _check_order(line: LogLine, previous: LogLine | None, latest: str) -> None:
    """Check that neither time nor rule book goes backwards from the line before, and that neither
    is from the future."""
    if previous and line.at < previous.at:
        raise _broken(
            line.number,
            f"at is {line.at}",
            f"not before the line before, {previous.at}",
            "The times of the LOG never go backwards.",
        )
    # A time in the future would let keys count that are not valid yet.
    if line.at > latest:
        raise _broken(
            line.number,
            f"at is {line.at}",
            f"at most {latest}, a day from now",
            "This time is in the future.",
        )
    if line.rules_version not in RELEASED:
        raise _broken(
            line.number,
            f"rules_version is {line.rules_version}",
            f"one of {', '.join(RELEASED)}",
            "There is no such rule book, or it is newer than this bench-check.",
        )
    if previous and parse_version(line.rules_version) < parse_version(previous.rules_version):
        raise _broken(
            line.number,
            f"rules_version is {line.rules_version}",
            "one not older than that of the line before",
            "No bundle is accepted under an older rule book than the one before it.",
        )


def _add_line(line: LogLine, accepted: dict[str, LogLine], withdrawn: dict[str, LogLine]) -> None:
    """Add a line to the bundles accepted or withdrawn so far."""
    earlier = accepted.get(line.path)
    if line.event == ACCEPTED:
        if earlier is not None:
            raise _broken(
                line.number,
                f"{shorten(line.path)} is accepted again, after line {earlier.number}",
                "each directory once",
                "A run that is repeated has a directory of its own.",
            )
        accepted[line.path] = line
        return
    # The manifest too: a withdrawal of another bundle in this place is no withdrawal of this one.
    if earlier is None or earlier.manifest_sha256 != line.manifest_sha256 or line.path in withdrawn:
        raise _broken(
            line.number,
            f"{shorten(line.path)} is withdrawn",
            "a bundle that was accepted in an earlier line and not withdrawn since",
            "Only an accepted bundle can be withdrawn, and only once.",
        )
    withdrawn[line.path] = line


def _add_commitment(line: LogLine, committed: dict[tuple[str, str], LogLine]) -> None:
    """Add a line to the commitments so far."""
    key = line.path.casefold(), line.manifest_sha256
    if key in committed:
        raise _broken(
            line.number,
            f"{shorten(line.path)} commits again, after line {committed[key].number}",
            "each commitment once",
            "The first line of a commitment counts.",
        )
    committed[key] = line


def parse_version(text: str) -> tuple[int, ...]:
    """A version such as 1.3.0 as numbers, so that versions can be compared."""
    return tuple(int(number) for number in text.split("."))


def format_line(previous: str, entry: LogEntry) -> bytes:
    """The line of the LOG for `entry`, after the line with the hash `previous` (`START` for the
    first)."""
    record = {"format": LOG_ENTRY_FORMAT, "previous": previous, **asdict(entry)}
    if not entry.reason:
        del record["reason"]
    # `surrogateescape` gives back the bytes of a path that is not UTF-8.
    return (json.dumps(record, ensure_ascii=False) + "\n").encode(errors="surrogateescape")


def append_entries(submissions: Path, head: str, entries: Iterable[LogEntry]) -> AcceptanceLog:
    """Append a line for each entry to the LOG that ends with `head`, and return the new LOG.

    The file is replaced as a whole: it has all of the lines or none. Raises Refused if it does not
    end with `head` or a line is not valid after it, and OSError if it cannot be written.
    """
    path = submissions / ACCEPTANCE_FILE
    directory = os.open(submissions, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Lock the directory: the file itself is replaced.
        fcntl.flock(directory, fcntl.LOCK_EX)
        before = read_plain(path, ACCEPTANCE_FILE, MAX_LOG_BYTES) if os.path.lexists(path) else b""
        present = _parse_log(before)
        if present.head != head:
            raise _broken(
                present.lines,
                f"the LOG ends with {present.head}",
                f"it ends with {head}",
                "Another process has appended to it. Run the command again.",
            )
        text = before
        for entry in entries:
            line = format_line(head, entry)
            text, head = text + line, hashlib.sha256(line).hexdigest()
        # Check the new lines like those of anybody else, before anything is written.
        after = _parse_log(text)
        write_durable(path, text)
        # The rename is durable only when the directory is on disk.
        os.fsync(directory)
    finally:
        os.close(directory)
    return after


def find_contradictions(line: LogLine, file: str, document: Json) -> Iterator[Problem]:
    """What in the main document of a bundle, the object in `file`, contradicts that the bundle was
    accepted by `line`: a run that ended later, or a newer rule book."""
    try:
        ended_at, book = str(document["ended_at"]), str(document["rules_version"])
        ended_later = (
            datetime.fromisoformat(ended_at) > datetime.fromisoformat(line.at) + _CLOCK_TOLERANCE
        )
        is_newer = parse_version(book) > parse_version(line.rules_version)
    except (LookupError, TypeError, ValueError, OverflowError):
        return  # The rules on form refuse such a document, and no acceptance lifts that.
    source = f"line {line.number} of the {ACCEPTANCE_FILE}"
    message = (
        "The acceptance does not count for this bundle. Restore the LOG from the repository's "
        "history."
    )
    if ended_later:
        found = f"{ended_at}, but accepted {line.at} ({source})"
        yield from build_refusal(
            ACCEPTANCE_CONTRADICTS_BUNDLE,
            file,
            "/ended_at",
            found,
            "a run that ended before",
            message,
        ).problems
    if is_newer:
        found = f"{book}, but accepted under {line.rules_version} ({source})"
        yield from build_refusal(
            ACCEPTANCE_CONTRADICTS_BUNDLE,
            file,
            "/rules_version",
            found,
            "an acceptance under that rule book or a newer one",
            message,
        ).problems


def find_missing_head(log: AcceptanceLog, head: str) -> Iterator[Problem]:
    """Report that no line of the LOG has the hash `head`, which was published when that line was
    the last one. Nothing is reported for a broken LOG."""
    if head not in log.hashes and not log.problems:
        message = (
            "Lines at the end are missing, or the LOG was rewritten. Restore the LOG from the "
            "repository's history, and check that the head was copied correctly."
        )
        yield from build_refusal(
            LOG_BROKEN,
            ACCEPTANCE_FILE,
            "",
            f"{log.lines} lines with the head {log.head}",
            f"a line with the hash {head}",
            message,
        ).problems


def find_missing_bundles(
    log: AcceptanceLog, below: str, present: Container[str]
) -> Iterator[Problem]:
    """The bundles of the LOG at or below the path `below` (all if it is empty) that are not among
    the paths `present`."""
    for path, line in log.accepted.items():
        inside = not below or path == below or path.startswith(f"{below}/")
        if inside and path not in present:
            message = (
                "An accepted bundle stays in the repository, also after it is withdrawn. Restore "
                "it."
            )
            yield from build_refusal(
                ACCEPTED_BUNDLE_MISSING,
                ACCEPTANCE_FILE,
                f"line {line.number}",
                f"no bundle in {shorten(path)}",
                f"the bundle with the manifest {line.manifest_sha256}, accepted {line.at}",
                message,
            ).problems


def _broken(number: int, found: str, expected: str, reason: str) -> Refused:
    message = (
        f"{reason} Restore the LOG from the repository's history. Until then no entry of it counts."
    ).strip()
    return build_refusal(LOG_BROKEN, ACCEPTANCE_FILE, f"line {number}", found, expected, message)
