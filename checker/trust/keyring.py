"""Read the keyring: which keys count, and for what.

A line of `allowed_signers` has the form that ssh-keygen(1) describes under ALLOWED SIGNERS.
wattmark is stricter than OpenSSH: principals are written out, without wildcards, and each line
names its namespaces. `checker/trust/signature.py` asks OpenSSH whether a signature is good.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from checker.trust.revoked import check_revoked
from rules.bundle_format.files import Refused, build_refusal, read_plain, shorten
from rules.bundle_format.records import REVOKED_FILE, SIGNERS_FILE, SUBMISSION_NAMESPACE
from rules.finding import Problem
from rules.rule_ids import KEY_UNDER_TWO_NAMES, KEYRING_LINE_UNCLEAR, KEYRING_MISSING

PRINCIPAL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9._-]+")
_NAMESPACE = re.compile(r"[A-Za-z0-9._@+-]+")
_SHARED_DOMAINS = frozenset(
    ["ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "govt", "ne", "net", "or", "org", "re"]
)
"""Domains below that of a country in which many organisations register theirs, as in ac.uk."""
MAX_KEYRING_BYTES = 4 * 2**20
# Options follow each other without a space, except inside quotes.
_LINE = re.compile(
    r'(?P<principals>"[^"]*"|\S+)[ \t]+'
    r'(?:(?P<options>(?:[^\s"]|"(?:[^"\\]|\\.)*")+)[ \t]+)??'
    r"(?P<kind>(?:ssh|ecdsa|sk|rsa)-[a-z0-9@.-]+)[ \t]+(?P<blob>[A-Za-z0-9+/]+={0,2})(?:[ \t].*)?"
)
_OPTION = re.compile(r'([a-zA-Z-]+)(?:="((?:[^"\\]|\\.)*)")?(?:,|$)')
_DATES = ("valid-after", "valid-before")
_OPTIONS = ("cert-authority", "namespaces", *_DATES)
_DATE = re.compile(
    r"[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
    r"(([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9])?)?[Zz]?"
)
"""The dates that OpenSSH reads."""

FileState = tuple[int, int, int]
"""Inode, time of the last change in ns and size in bytes of a file; zeros if there is none."""


@dataclass(frozen=True)
class KeyringLine:
    """One key of the keyring, its principals and the namespaces that it is good for."""

    principals: tuple[str, ...]
    namespaces: tuple[str, ...]
    """Empty if the line names none: OpenSSH then accepts every namespace."""
    fingerprint: str
    """As ssh-keygen prints it: SHA256:…"""
    is_authority: bool = False
    """Whether the key signs certificates. Each certificate then names its principal."""
    unread_option: str = ""
    """An option that OpenSSH refuses. Empty if it accepts all."""

    @property
    def owner(self) -> str:
        """The principal whose center submits with this key. Empty if the key signs no
        submissions itself."""
        may_submit = not self.namespaces or any(
            # A pattern grants the namespace too.
            fnmatchcase(SUBMISSION_NAMESPACE, pattern)
            for pattern in self.namespaces
        )
        # Patterns are no principals: I124 reports them.
        principals = (p for p in self.principals if PRINCIPAL.fullmatch(p))
        return next(principals, "") if may_submit and not self.is_authority else ""


@dataclass(frozen=True)
class Keyring:
    """A directory with `allowed_signers`, and what is wrong with its lines."""

    directory: Path
    lines: tuple[KeyringLine, ...]
    problems: tuple[Problem, ...]
    state: tuple[FileState, ...]
    """State of its files. A cached result that was verified with the keyring holds while this state
    is unchanged."""

    @property
    def submissions(self) -> Path:
        """The directory that holds the keyring, the LOG and the waivers."""
        return self.directory.parent

    @property
    def signers(self) -> Path:
        """The file `allowed_signers`."""
        return self.directory / SIGNERS_FILE

    @property
    def revoked(self) -> Path | None:
        """The list of revoked keys, None if there is none."""
        path = self.directory / REVOKED_FILE
        return path if path.exists() else None

    def principals_of(self, center: str) -> tuple[str, ...]:
        """The principals of a center: its name is the part before their @."""
        return tuple(
            dict.fromkeys(
                principal
                for line in self.lines
                for principal in line.principals
                # A name without @ has no center part: `example` alone is not a principal of the
                # center `example`.
                if "@" in principal and belongs_to(principal, center)
            )
        )

    def grants(self, principal: str, namespace: str, fingerprint: str | None = None) -> bool:
        """Whether a line grants `namespace` to `principal`, and to the key with this fingerprint if
        one is given."""
        return any(
            principal in line.principals
            and namespace in line.namespaces
            and fingerprint in (None, line.fingerprint)
            for line in self.lines
        )

    def find_key_owner(self, fingerprint: str) -> str:
        """The principal of the first line that lets the key with this fingerprint submit. Empty if
        there is none."""
        return next(
            (line.owner for line in self.lines if line.fingerprint == fingerprint and line.owner),
            "",
        )

    def center_has_key(self, center: str, fingerprint: str) -> bool:
        """Whether a line gives the key with this fingerprint to a principal of the center."""
        return any(
            belongs_to(principal, center)
            for line in self.lines
            if line.fingerprint == fingerprint
            for principal in line.principals
        )

    def find_tie(self, principal: str, center: str, fingerprint: str = "") -> str:
        """What ties `principal`, who signs with the key with this fingerprint, to the center. Empty
        if neither the name nor the key does.

        The check covers names, domains and keys. A person of the center who uses an unrelated name
        and domain is not detected: whoever maintains the keyring vouches for its principals.
        """
        if belongs_to(principal, center):
            return f"{principal} is of {center} itself"
        # A center could give itself a second name, but it signs with the same key.
        if fingerprint and self.center_has_key(center, fingerprint):
            return f"{principal} signs with a key of {center}"
        labels = _domain(principal).split(".")
        # The last one is a top-level domain, unless it stands alone.
        if center.casefold() in (labels[:-1] or labels):
            return f"{principal} has a domain called {center}"
        organisation = find_organisation(principal)
        same = [p for p in self.principals_of(center) if find_organisation(p) == organisation]
        return f"{principal} has the domain of {same[0]}" if same else ""


def belongs_to(principal: str, center: str) -> bool:
    """Whether a principal belongs to a center. Upper and lower case are the same: EXAMPLE@… belongs
    to the center `example`."""
    return _center(principal) == center.casefold()


def _center(principal: str) -> str:
    return principal.partition("@")[0].casefold()


def _domain(principal: str) -> str:
    # DNS ignores a dot at the end.
    return ".".join(filter(None, principal.partition("@")[2].casefold().split(".")))


def find_organisation(principal: str) -> str:
    """The part of the mail domain that an organisation registers: example.org of mail.example.org,
    example.ac.uk of cs.example.ac.uk.

    These are the last two parts, or three where the second to last is a common one below the domain
    of a country. A list of all public suffixes would change the verdict with its version.
    """
    parts = _domain(principal).split(".")
    is_below_country = len(parts) > 2 and len(parts[-1]) == 2 and parts[-2] in _SHARED_DOMAINS
    return ".".join(parts[-3:] if is_below_country else parts[-2:])


def read_keyring(directory: Path) -> Keyring:
    """Read the keyring in `directory`. The result is cached until one of its files changes. Raises
    Refused."""
    states = []
    for name in (SIGNERS_FILE, REVOKED_FILE):
        try:
            stat = (directory / name).lstat()
        except FileNotFoundError:
            # A missing file has a state too, so that the cache notices when it appears.
            states.append((0, 0, 0))
        except OSError as error:
            raise _unreadable(name, error) from None
        else:
            states.append((stat.st_ino, stat.st_ctime_ns, stat.st_size))
    return _read(directory, tuple(states))


@lru_cache(maxsize=256)
def _read(directory: Path, state: tuple[FileState, ...]) -> Keyring:
    raw = read_plain(directory / SIGNERS_FILE, f"keyring/{SIGNERS_FILE}", MAX_KEYRING_BYTES)
    revoked = directory / REVOKED_FILE
    # A dangling link does not exist, and is refused too: no link is followed.
    if revoked.is_symlink() or revoked.exists():
        check_revoked(revoked)
    lines: dict[int, KeyringLine] = {}
    problems: list[Problem] = []
    # Bytes that are no UTF-8 become U+FFFD, which no key and no valid principal contains.
    for number, text in enumerate(raw.decode(errors="replace").splitlines(), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        line = _parse_line(text.strip())
        if line is not None:
            lines[number] = line
        problems += [
            build_refusal(
                KEYRING_LINE_UNCLEAR, SIGNERS_FILE, f"line {number}", found, expected, message
            ).problems[0]
            for found, expected, message in _check_line(text, line)
        ]
    problems += _find_shared_keys(lines)
    return Keyring(directory, tuple(lines.values()), tuple(problems), state)


def _find_shared_keys(lines: Mapping[int, KeyringLine]) -> Iterator[Problem]:
    """Report each line, by its number, that gives the key of a center to another center."""
    owners: dict[str, tuple[str, int]] = {}
    for number, line in lines.items():
        if not line.owner:
            continue
        owner, first_number = owners.setdefault(line.fingerprint, (line.owner, number))
        for principal in line.principals:
            if PRINCIPAL.fullmatch(principal) and _center(principal) != _center(owner):
                yield from build_refusal(
                    KEY_UNDER_TWO_NAMES,
                    SIGNERS_FILE,
                    f"line {number}",
                    f"{shorten(principal)} with the key of {shorten(owner)} (line {first_number})",
                    "a key for each center",
                    "Remove the line. Ask the center for a key that nobody else has.",
                ).problems


def _parse_line(text: str) -> KeyringLine | None:
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    # OpenSSH compares option names without regard to case.
    options = {name.lower(): value for name, value in _OPTION.findall(match["options"] or "")}
    namespaces = tuple(filter(None, options.get("namespaces", "").split(",")))
    try:
        key = base64.b64decode(match["blob"], validate=True)
    except ValueError:
        return None
    principals = tuple(filter(None, match["principals"].strip('"').split(",")))
    is_authority = "cert-authority" in options
    return KeyringLine(
        principals, namespaces, compute_fingerprint(key), is_authority, _find_unread_option(options)
    )


def _find_unread_option(options: Mapping[str, str]) -> str:
    """The first option with a name or a date that OpenSSH cannot read, or both dates if valid-after
    is not before valid-before. Empty if there is none."""
    for name, value in options.items():
        if name not in _OPTIONS:
            return name
        if name in _DATES and not _DATE.fullmatch(value):
            return f'{name}="{value}"'
    start, end = (options.get(name, "").upper() for name in _DATES)
    # With Z a date is in UTC, without it in local time, which differs between readers.
    have_same_zone = start.endswith("Z") == end.endswith("Z")
    if start and end and have_same_zone and _complete_date(end) <= _complete_date(start):
        return f'valid-after="{start}" with valid-before="{end}"'
    return ""


def _complete_date(date: str) -> str:
    """The digits of a date with its time of day to the second."""
    return date.removesuffix("Z").ljust(len("20261231235959"), "0")


def compute_fingerprint(key: bytes) -> str:
    """The fingerprint of a public key (decoded from a line's base64) as ssh-keygen prints it:
    SHA256:…"""
    # ssh-keygen prints base64 without its padding.
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _check_line(text: str, line: KeyringLine | None) -> Iterator[tuple[str, str, str]]:
    """The problems of one line: what was found, what was expected, and what to do."""
    if line is None:
        message = (
            "OpenSSH skips this line, so its key counts for nobody. Correct the line or remove it."
        )
        yield shorten(text), "PRINCIPALS OPTIONS KEYTYPE KEY", message
        return
    if line.unread_option:
        yield (
            f"the option {shorten(line.unread_option)}",
            f"{', '.join(_OPTIONS)}; dates as 20261231 or 202612312359, and valid-after before "
            "valid-before",
            "OpenSSH skips this line, so its key counts for nobody. Correct the option.",
        )
        return
    patterns = [p for p in line.principals if not PRINCIPAL.fullmatch(p)]
    if patterns:
        yield (
            f"the principal {shorten(patterns[0])}",
            "CENTER@…, written out",
            "Name each principal. A pattern also accepts names that nobody has reviewed.",
        )
    unclear = [name for name in line.namespaces if not _NAMESPACE.fullmatch(name)]
    if unclear:
        yield (
            f"the namespace {shorten(unclear[0])}",
            "namespaces written out, with only a comma between them",
            "Name each namespace of the key. A pattern grants every role.",
        )
    if not line.namespaces:
        yield (
            "a key that is good for every namespace",
            'namespaces="submission@wattmark", or those of the roles that the key has',
            "Name the namespaces of the key. Without them it counts only as a submitter's key.",
        )


def _unreadable(name: str, error: OSError) -> Refused:
    message = "Give the checker permission to read the keyring."
    return build_refusal(
        KEYRING_MISSING,
        f"keyring/{name}",
        "",
        f"cannot be read: {error.strerror}",
        "a readable file",
        message,
    )
