"""Reads the keyring: whose keys count, and for what. Whether a signature is good is OpenSSH's to
say (`checker/trust/signature.py`).

A line of `allowed_signers` has the form that ssh-keygen(1) describes under ALLOWED SIGNERS.
wattmark asks for more than OpenSSH does: principals are spelled out, without wildcards, and each
line names its namespaces.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from checker.trust.revoked import check_revoked
from rules.bundle_format.files import Refused, read_plain, refused, shortened
from rules.bundle_format.records import REVOKED_FILE, SIGNERS_FILE
from rules.finding import Problem
from rules.rule_ids import KEYRING_LINE_UNCLEAR, KEYRING_MISSING

PRINCIPAL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9._-]+")
_NAMESPACE = re.compile(r"[A-Za-z0-9._@+-]+")
MAX_KEYRING_BYTES = 4 * 2**20
_LINE = re.compile(
    r'(?P<principals>"[^"]*"|\S+)[ \t]+'
    r'(?:(?P<options>(?:[^\s"]|"(?:[^"\\]|\\.)*")+)[ \t]+)??'
    r"(?P<kind>(?:ssh|ecdsa|sk|rsa)-[a-z0-9@.-]+)[ \t]+(?P<blob>[A-Za-z0-9+/]+={0,2})(?:[ \t].*)?"
)
_OPTION = re.compile(r'([a-zA-Z-]+)(?:="((?:[^"\\]|\\.)*)")?(?:,|$)')


@dataclass(frozen=True)
class Line:
    """One key of the keyring, and what it is good for."""

    principals: tuple[str, ...]
    namespaces: tuple[str, ...]
    """Empty where the line names none: OpenSSH then accepts every namespace."""
    fingerprint: str
    """As ssh-keygen prints it: SHA256:…"""


@dataclass(frozen=True)
class Keyring:
    """A directory with `allowed_signers`, and what is wrong with its lines."""

    directory: Path
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...]
    state: tuple[tuple[int, int, int], ...]
    """Inode, time of change and size of its files: what was verified with it holds for as long as
    they stay."""

    @property
    def submissions(self) -> Path:
        """The directory that the keyring is of: beside it lie the LOG and the waivers."""
        return self.directory.parent

    @property
    def signers(self) -> Path:
        return self.directory / SIGNERS_FILE

    @property
    def revoked(self) -> Path | None:
        """The list of revoked keys, None where there is none."""
        path = self.directory / REVOKED_FILE
        return path if path.exists() else None

    def of_center(self, center: str) -> tuple[str, ...]:
        """The principals of a center: what stands before their @ is its name."""
        return tuple(
            dict.fromkeys(
                p for line in self.lines for p in line.principals if "@" in p and is_of(p, center)
            )
        )

    def grants(self, principal: str, namespace: str, fingerprint: str | None = None) -> bool:
        """Whether a line names this namespace for `principal` (and this key)."""
        own = (
            line
            for line in self.lines
            if principal in line.principals and namespace in line.namespaces
        )
        return any(fingerprint in (None, line.fingerprint) for line in own)

    def center_has(self, center: str, fingerprint: str) -> bool:
        """Whether a key is one of the center's."""
        return any(
            is_of(p, center)
            for line in self.lines
            if line.fingerprint == fingerprint
            for p in line.principals
        )

    def tie(self, principal: str, center: str, fingerprint: str = "") -> str:
        """What makes `principal`, who signs with this key, one of the center; empty where neither
        name nor key does.

        Names prove little: that whoever is behind another name is of another center, the keeper of
        the keyring answers for.
        """
        if is_of(principal, center):
            return f"{principal} is of {center} itself"
        if fingerprint and self.center_has(center, fingerprint):
            return f"{principal} signs with a key of {center}"
        domain = _domain(principal)
        if domain.split(".")[0] == center.casefold():
            return f"{principal} has a domain called {center}"
        same = [own for own in self.of_center(center) if _domain(own) == domain]
        return f"{principal} has the domain of {same[0]}" if same else ""


def is_of(principal: str, center: str) -> bool:
    """Whether a principal is of a center: the same name in capitals is no other center."""
    return principal.partition("@")[0].casefold() == center.casefold()


def _domain(principal: str) -> str:
    return principal.partition("@")[2].casefold()


def read_keyring(directory: Path) -> Keyring:
    """The keyring in `directory`, read once for as long as its files stay as they are. Raises
    Refused."""
    found = []
    for name in (SIGNERS_FILE, REVOKED_FILE):
        try:
            stat = (directory / name).lstat()
        except FileNotFoundError:
            found.append((0, 0, 0))
        except OSError as error:
            raise _unreadable(name, error) from None
        else:
            found.append((stat.st_ino, stat.st_ctime_ns, stat.st_size))
    return _read(directory, tuple(found))


@lru_cache(maxsize=256)
def _read(directory: Path, state: tuple[tuple[int, int, int], ...]) -> Keyring:
    raw = read_plain(directory / SIGNERS_FILE, f"keyring/{SIGNERS_FILE}", MAX_KEYRING_BYTES)
    revoked = directory / REVOKED_FILE
    if revoked.is_symlink() or revoked.exists():
        check_revoked(revoked)
    lines, problems = [], []
    for number, text in enumerate(raw.decode(errors="replace").splitlines(), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        line = _parse(text.strip())
        if line is not None:
            lines.append(line)
        problems += [
            refused(KEYRING_LINE_UNCLEAR, SIGNERS_FILE, f"line {number}", *said).problems[0]
            for said in _wrong(text, line)
        ]
    return Keyring(directory, tuple(lines), tuple(problems), state)


def _parse(text: str) -> Line | None:
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    options = {name.lower(): value for name, value in _OPTION.findall(match["options"] or "")}
    namespaces = tuple(filter(None, options.get("namespaces", "").split(",")))
    try:
        key = base64.b64decode(match["blob"], validate=True)
    except ValueError:
        return None
    principals = tuple(filter(None, match["principals"].strip('"').split(",")))
    return Line(principals, namespaces, fingerprint(key))


def fingerprint(key: bytes) -> str:
    """The fingerprint of a public key (decoded from a line's base64) as ssh-keygen prints it:
    SHA256:…"""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _wrong(text: str, line: Line | None) -> Iterator[tuple[str, str, str]]:
    """What was found, what was expected and what to do, for what is wrong with one line."""
    if line is None:
        message = (
            "OpenSSH passes over the line, so nobody's signature counts by it. Mend it, or "
            "remove it."
        )
        yield shortened(text), "PRINCIPALS OPTIONS KEYTYPE KEY", message
        return
    odd = [p for p in line.principals if not PRINCIPAL.fullmatch(p)]
    if odd:
        yield (
            f"the principal {shortened(odd[0])}",
            "CENTER@…, spelled out",
            "Name each principal; a pattern lets in names not yet known.",
        )
    unclear = [name for name in line.namespaces if not _NAMESPACE.fullmatch(name)]
    if unclear:
        expected = "namespaces spelled out, with nothing but a comma between them"
        yield (
            f"the namespace {shortened(unclear[0])}",
            expected,
            "Name what the key is for; a pattern lets in every role.",
        )
    if not line.namespaces:
        expected = 'namespaces="submission@wattmark", or those of the roles that the key has'
        yield (
            "a key that is good for every namespace",
            expected,
            "Say what the key is for. It counts for no role but a submitter's.",
        )


def _unreadable(name: str, error: OSError) -> Refused:
    message = "Give the checker the right to read the keyring."
    return refused(
        KEYRING_MISSING,
        f"keyring/{name}",
        "",
        f"cannot be read: {error.strerror}",
        "a readable file",
        message,
    )
