"""Keeps what the evidence of each bundle gave, so that a round is judged again in a fraction of the
time.

A cache says nothing about trust: signatures, LOG, waivers and rules across bundles are judged anew.
These rules take from it what depends on the readings of two runs alone.
Each entry is a file of this user, named after the path of its bundle, in a directory named after
the code that judged it. It counts for a bundle whose files are unchanged, or have equal content.
"""

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import checker
import rules
from checker import CheckerError
from checker.command_line.user_cache import (
    UnsafeError,
    open_directory,
    read_entry,
    write_entry,
)
from checker.judging.judgement import (
    Judgement,
    decode_judgement,
    decode_summary,
    encode_judgement,
)
from checker.judging.kept import pack_plainly
from rules.bundle_format.files import Files, read_files
from rules.bundle_format.records import EVIDENCE_FILES, KINDS_OF_BUNDLES, SIGNATURE_DIR
from rules.copies import noise
from rules.registry import rules_by_id

SETTLED_S = 2.0
"""A file that changed less than so many seconds ago could change again without a later time."""
_SALT_FILE = "salt"
_LIBRARIES = (
    *("isal", "jsonschema", "jsonschema-rs", "numpy", "pandas", "pyarrow"),
    *("altair", "jinja2", "vl-convert-python"),
)
"""Packages on which a judgement depends, and those of a page."""
_MAIN_FILES = frozenset(kind.main_file for kind in KINDS_OF_BUNDLES)
_MAX_FILES = 64
_COMPARISONS_FILE = "comparisons"
_MAX_COMPARISONS = 50_000
_KEPT_SUFFIX = ".kept"

Stamp = list[list[object]]
"""Name, mode, size, times of change and inode of each file of a bundle, without signatures."""


@dataclass(frozen=True)
class Entry:
    """What the cache holds of one bundle."""

    stamp: Stamp
    """Empty if a file had changed just before."""
    hashes: Mapping[str, str]
    """SHA-256 of each file, without signatures."""
    judgement: Judgement
    """Without its summary."""
    summary: bytes
    """As it is written."""
    encoded: bytes
    """The whole judgement as it is written."""


@dataclass(frozen=True)
class Reading:
    """The files of a bundle, and what the cache knows of them."""

    files: Files
    """If there is a judgement, those that say who signed it."""
    stamp: Stamp = field(default_factory=list)
    judgement: Judgement | None = None
    """Without its summary; None if the files must be judged."""
    summary: bytes = b""
    """Of the judgement, as it is written."""
    kept: bytes = b""
    """What the caller of the check keeps of the bundle."""
    expected: bytes = b""
    """The judgement that the files must get; empty unless it is to be compared."""


@dataclass(frozen=True)
class VerdictCache:
    """The entries of one version of the code."""

    directory: Path
    salt: int
    """Takes the place of the salt of a check: summaries are comparable under one only."""
    keeper: str = ""
    """The hash of the code that decides what is kept of a bundle; empty if nothing is."""
    verified: frozenset[Path] = frozenset()
    """The bundles that are judged again, to compare."""

    def read(self, bundle: Path) -> Reading:
        """Read the files of the bundle in a directory; of an unchanged one, only those that its
        trust depends on."""
        # Before the files are read: what changes in between has another stamp next time.
        stamp, entry = take_stamp(bundle), self._find(bundle)
        kept = self.read_kept(bundle, entry.hashes) if entry and self.keeper else b""
        if self.keeper and not kept:
            entry = None  # The caller needs the evidence.
        is_verified = bundle in self.verified
        if entry and stamp and stamp == entry.stamp and not is_verified:
            # Without evidence, trust looks at the main document itself.
            needed = _MAIN_FILES if entry.judgement.standing is None else ()
            files = read_files(bundle, EVIDENCE_FILES.difference(needed))
            if not files.problems and hash_files(files).items() <= entry.hashes.items():
                return Reading(files, stamp, entry.judgement, entry.summary, kept)
        files = read_files(bundle)
        if not entry or files.problems or hash_files(files) != entry.hashes:
            return Reading(files, stamp)
        if is_verified:
            return Reading(files, stamp, expected=entry.encoded)
        # A copy or a checkout of the same files.
        self._write(bundle, stamp, entry.hashes, entry.encoded)
        return Reading(files, stamp, entry.judgement, entry.summary, kept)

    def keep(self, bundle: Path, reading: Reading, judgement: Judgement) -> None:
        """Write what `reading` was judged to be, unless a later check may judge otherwise, or the
        disk is full. Raises CheckerError if the cache expected another judgement."""
        book = rules_by_id()
        has_passing_finding = any(
            finding.rule not in book or book[finding.rule].depends_on_date
            for finding in judgement.findings
        )
        if has_passing_finding or reading.files.problems:
            return
        encoded = encode_judgement(judgement)
        if not encoded:
            return
        if reading.expected and not _is_equal(judgement, reading.expected):
            raise CheckerError(
                f"{bundle}: the cache has another verdict on the same files; remove "
                f"{self.directory}, and report it"
            )
        self._write(bundle, reading.stamp, hash_files(reading.files), encoded)

    def has_passed(self, published: Path, content: bytes) -> bool:
        """Whether a file of published figures has passed with this content."""
        entry = None if published in self.verified else self._find(published)
        return entry is not None and entry.hashes == hash_published(published, content)

    def keep_passed(self, published: Path, content: bytes) -> None:
        """Write that a file of published figures has passed with this content."""
        passed = encode_judgement(Judgement("published", None, None, {}, ()))
        self._write(published, [], hash_published(published, content), passed)

    def read_kept(self, bundle: Path, hashes: Mapping[str, str]) -> bytes:
        """What `write_kept` wrote of the bundle with these files; empty without it."""
        content = read_entry(self._locate(bundle).with_suffix(_KEPT_SUFFIX)) or b"\n"
        header, kept = content.split(b"\n", 1)
        return kept if header == self._describe_kept(bundle, hashes) else b""

    def write_kept(self, bundle: Path, hashes: Mapping[str, str], kept: bytes) -> None:
        """Write what a caller of the check keeps of a bundle."""
        content = self._describe_kept(bundle, hashes) + b"\n" + kept
        write_entry(self._locate(bundle).with_suffix(_KEPT_SUFFIX), content)

    def _describe_kept(self, bundle: Path, hashes: Mapping[str, str]) -> bytes:
        # What is kept may name the bundle as the user did.
        return json.dumps([self.keeper, str(bundle), sorted(hashes.items())]).encode()

    @contextmanager
    def remember_comparisons(self) -> Iterator[None]:
        """Let the rules across bundles take from an earlier check what depends on the readings of
        two runs alone. Raises CheckerError if the cache says otherwise."""
        path = self.directory / _COMPARISONS_FILE
        content = read_entry(path)
        known = {
            key: tuple((lag, is_reversed) for lag, is_reversed in alignments)
            for key, alignments in (json.loads(content) if content else {}).items()
        }
        noise.compared.clear()
        if not self.verified:
            noise.compared.update(known)
        yield
        if any(known.get(key, found) != found for key, found in noise.compared.items()):
            raise CheckerError(f"{path}: the cache has other comparisons; remove and report it")
        if noise.compared.keys() - known.keys():
            newest = list(noise.compared.items())[-_MAX_COMPARISONS:]
            write_entry(path, json.dumps(dict(newest)).encode())

    def _find(self, bundle: Path) -> Entry | None:
        """The entry of the bundle in a directory; None without one, or if it is damaged."""
        try:
            content = read_entry(self._locate(bundle)) or b""
            begin = content.index(b"\n") + 1
            header, encoded = json.loads(content[:begin]), content[begin:]
            judgement, summary = decode_judgement(encoded)
            return Entry(header["stamp"], header["hashes"], judgement, summary, encoded)
        except (ValueError, LookupError, TypeError, RecursionError):
            return None

    def _write(self, bundle: Path, stamp: Stamp, hashes: Mapping[str, str], encoded: bytes) -> None:
        content = json.dumps({"stamp": stamp, "hashes": hashes}).encode() + b"\n" + encoded
        write_entry(self._locate(bundle), content)

    def _locate(self, bundle: Path) -> Path:
        return self.directory / sha256(os.fsencode(bundle.absolute())).hexdigest()[:32]


def open_cache(warn: Callable[[str], object], keeper: str = "") -> VerdictCache | None:
    """The cache of this user for this version of the code. None where it cannot be used; `warn` is
    called if that is because somebody else may write it. `keeper` is the hash of the code that
    decides what is kept of a bundle."""
    try:
        if directory := open_directory("verdicts", hash_code()):
            return VerdictCache(directory, _read_salt(directory / _SALT_FILE), keeper)
    except UnsafeError as error:
        warn(f"{error}")
    except (OSError, ValueError):
        pass
    return None


def _is_equal(judgement: Judgement, encoded: bytes) -> bool:
    """Whether a cache holds this judgement."""
    try:
        head, summary = decode_judgement(encoded)
        cached = replace(head, summary=decode_summary(summary))
    except (ValueError, TypeError):
        return False
    return pack_plainly(cached) == pack_plainly(judgement)


def _read_salt(path: Path) -> int:
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.randbits(64)}\n")
    return int(path.read_text())


def hash_code(*more: ModuleType) -> str:
    """The SHA-256 of the files of rules/, checker/ and `more` packages, and of the versions of what
    they use."""
    digest = sha256(f"{sys.version} {os.uname().machine}".encode())
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    for package in (rules, checker, *more):
        for root, directories, names in os.walk(Path(str(package.__file__)).parent):
            directories[:] = sorted(set(directories) - {"__pycache__"})
            for name in sorted(names):
                content = (Path(root) / name).read_bytes()
                digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def take_stamp(bundle: Path) -> Stamp:
    """The stamp of the bundle in a directory; empty if it cannot be taken."""
    stamp: Stamp = []
    try:
        with os.scandir(bundle) as entries:
            for entry in entries:
                if entry.name == SIGNATURE_DIR:
                    continue
                state = entry.stat(follow_symlinks=False)
                times = (state.st_mtime_ns, state.st_ctime_ns)
                if len(stamp) == _MAX_FILES or max(times) / 1e9 > time.time() - SETTLED_S:
                    return []
                stamp.append([entry.name, state.st_mode, state.st_size, *times, state.st_ino])
    except OSError:
        return []
    return sorted(stamp)


def hash_published(path: Path, content: bytes) -> dict[str, str]:
    """As `hash_files`, of a file of published figures."""
    return {path.name: sha256(content).hexdigest()}


def hash_files(files: Files) -> dict[str, str]:
    """The SHA-256 of each file that was read, without signatures."""
    return {
        name: sha256(content).hexdigest()
        for name, content in files.contents.items()
        if not name.startswith(f"{SIGNATURE_DIR}/")
    }
