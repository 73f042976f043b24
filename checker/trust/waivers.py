"""Waivers: signed files in `submissions/waivers/` that say of which bundles a rule is not to be
held against them, and why."""

import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from checker.trust.keyring import Keyring
from checker.trust.signature import verify
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import MAX_SIGNATURE_BYTES, Refused, read_plain, refused, shortened
from rules.bundle_format.records import WAIVER_DIR, WAIVER_FORMAT, WAIVER_NAMESPACE
from rules.finding import Problem
from rules.registry import rules_by_id
from rules.rule_ids import (
    SIGNER_EXPIRED,
    SIGNER_NOT_OF_PATH,
    WAIVER_BY_OWN_CENTER,
    WAIVER_EXPIRED,
    WAIVER_NOT_GOOD,
)

_MAX_WAIVER_BYTES = 2**20


@dataclass(frozen=True)
class Waiver:
    """A waiver of good form. Whether its signature is good is asked when it is to count
    (`signed`)."""

    file: str
    """Its path below `submissions/`."""
    rule: str
    manifests: frozenset[str]
    below: str
    """The directory below `submissions/` whose bundles it is for, empty where it names
    `manifests`."""
    granted_by: str
    expires_at: str
    """Since when it no longer counts, empty where it is for good."""
    content: bytes
    signature: bytes

    def is_for(self, place: str, manifest_sha256: str) -> bool:
        """Whether a bundle at `place` below `submissions/`, with this manifest, is one of those
        that it names."""
        inside = place == self.below or place.startswith(f"{self.below}/")
        return (bool(self.below) and inside) or manifest_sha256 in self.manifests


Wrong = tuple[str, Problem]
"""What is wrong with a waiver, after the file's path below `submissions/`."""


def read_waivers(submissions: Path) -> tuple[list[Waiver], list[Wrong]]:
    """The waivers of the directory `submissions`, and what is wrong with the form of others. No
    signature is verified."""
    directory = submissions / WAIVER_DIR
    try:
        names = _names(directory)
    except Refused as refusal:
        return [], [(WAIVER_DIR, problem) for problem in refusal.problems]
    good: list[Waiver] = []
    wrong: list[Wrong] = []
    for name in names:
        outcome = _read(
            directory, name, _state(directory / name), _state(directory / f"{name}.sig")
        )
        if isinstance(outcome, Waiver):
            good.append(outcome)
        else:
            wrong += [(f"{WAIVER_DIR}/{name}", problem) for problem in outcome.problems]
    return good, wrong


def signed(waiver: Waiver, keyring: Keyring, at: str = "") -> Refused | str:
    """The fingerprint of the key that signed the waiver, valid now or `at`; or why the signature
    does not count.

    Raises CheckerError where there is no ssh-keygen.
    """
    outcome = _signed(waiver, keyring, "")
    late = (
        isinstance(outcome, Refused)
        and at
        and any(problem.rule == SIGNER_EXPIRED for problem in outcome.problems)
    )
    return _signed(waiver, keyring, at) if late else outcome


def in_force(
    keyring: Keyring, place: str, center: str, manifest_sha256: str, now: str, at: str = ""
) -> tuple[dict[str, str], list[Problem]]:
    """The rules that are waived for a bundle, each with the waiver's file; and what is wrong with
    waivers for just this bundle.

    A waiver must not have expired `now`, or `at` the time when the LOG says that the bundle was
    accepted.
    """
    waived: dict[str, str] = {}
    problems: list[Problem] = []
    for waiver in read_waivers(keyring.submissions)[0]:
        past = bool(waiver.expires_at) and waiver.expires_at <= (at or now)
        if past or not waiver.is_for(place, manifest_sha256):
            continue
        by = signed(waiver, keyring, at)
        if isinstance(by, Refused):
            continue
        tie = keyring.tie(waiver.granted_by, center, by)
        if tie:
            message = (
                "A waiver is granted by somebody who is not of the center whose bundles it is "
                "for. It does not count."
            )
            expected = (
                f"a principal of another center than {shortened(center)}, with a key of its own"
            )
            problems += refused(
                WAIVER_BY_OWN_CENTER, waiver.file, "/granted_by", tie, expected, message
            ).problems
        else:
            waived.setdefault(waiver.rule, waiver.file)
    return waived, problems


def judged(keyring: Keyring, now: str) -> tuple[list[Waiver], list[Wrong]]:
    """All waivers that count, and all that is wrong with the others."""
    waivers, wrong = read_waivers(keyring.submissions)
    good = []
    for waiver in waivers:
        outcome = signed(waiver, keyring)
        if isinstance(outcome, Refused):
            wrong += [(waiver.file, problem) for problem in outcome.problems]
        elif waiver.expires_at and waiver.expires_at <= now:
            message = (
                "It counts for bundles alone that the LOG says were accepted before. For "
                "others it takes a new one."
            )
            found = f"it has expired: {waiver.expires_at}"
            wrong += [
                (waiver.file, p)
                for p in refused(
                    WAIVER_EXPIRED, "", "/expires_at", found, "a waiver in force", message
                ).problems
            ]
        else:
            good.append(waiver)
    return good, wrong


def _names(directory: Path) -> list[str]:
    """The names of the waivers in the directory. Raises Refused where it is none, or cannot be
    read."""
    try:
        if not stat.S_ISDIR(directory.lstat().st_mode):
            message = "Waivers are files in a directory of the repository itself."
            raise refused(WAIVER_NOT_GOOD, "", "", "a link or a file", "a directory", message)
        names = sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        message = "Give the checker the right to read it."
        raise refused(
            WAIVER_NOT_GOOD, "", "", f"cannot be read: {error.strerror}", "a directory", message
        ) from None
    # A signature alone is a waiver that is missing: reading it says so.
    return sorted({name.removesuffix(".sig") for name in names})


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size


@lru_cache(maxsize=4096)
def _read(directory: Path, name: str, _waiver: object, _signature: object) -> Waiver | Refused:
    try:
        return _parsed(directory, name)
    except Refused as refusal:
        return _kept(refusal)


def _parsed(directory: Path, name: str) -> Waiver:
    if not name.endswith(".json"):
        message = (
            "In this directory lie waivers, NAME.json, each with its signature, NAME.json.sig. "
            "Remove it."
        )
        raise refused(
            WAIVER_NOT_GOOD, "", "", "not a waiver", "NAME.json and NAME.json.sig", message
        )
    content = read_plain(directory / name, name, _MAX_WAIVER_BYTES)
    said = read_document(name, content, WAIVER_FORMAT)
    try:
        signature = read_plain(directory / f"{name}.sig", f"{name}.sig", MAX_SIGNATURE_BYTES)
    except Refused as refusal:
        message = "A waiver counts with a signature. Make it with bench-check waive."
        raise refused(
            WAIVER_NOT_GOOD,
            f"{name}.sig",
            "",
            refusal.problems[0].violation.found,
            "a signature",
            message,
        ) from None
    if said["rule"] not in rules_by_id():
        raise refused(
            WAIVER_NOT_GOOD,
            name,
            "/rule",
            said["rule"],
            "a rule of the book",
            "There is no such rule. Mend it, or remove it.",
        )
    if not rules_by_id()[said["rule"]].waivable:
        message = "A waiver is for circumstances, not for what is stated and not so. Remove it."
        raise refused(
            WAIVER_NOT_GOOD, name, "/rule", said["rule"], "a rule that can be waived", message
        )
    named, below = frozenset(said.get("manifests", ())), said.get("below", "")
    expires_at = said.get("expires_at", "")
    return Waiver(
        f"{WAIVER_DIR}/{name}",
        said["rule"],
        named,
        below,
        said["granted_by"],
        expires_at,
        content,
        signature,
    )


@lru_cache(maxsize=4096)
def _signed(waiver: Waiver, keyring: Keyring, at: str) -> Refused | str:
    name = Path(waiver.file).name + ".sig"
    who = waiver.granted_by
    try:
        path = keyring.submissions / f"{waiver.file}.sig"
        fingerprint = verify(
            path, waiver.signature, waiver.content, name, who, WAIVER_NAMESPACE, keyring, at
        )
        if not keyring.grants(who, WAIVER_NAMESPACE, fingerprint):
            message = (
                f'The line of the key in the keyring must name it: namespaces="{WAIVER_NAMESPACE}".'
            )
            raise refused(
                SIGNER_NOT_OF_PATH,
                name,
                "",
                "a key that is for no role",
                f"a key for the namespace {WAIVER_NAMESPACE}",
                message,
            )
    except Refused as refusal:
        return _kept(refusal)
    return fingerprint


def _kept(refusal: Refused) -> Refused:
    """The same without its traceback, which would keep in memory the bundles that were judged when
    it was raised."""
    return Refused(*refusal.problems)
