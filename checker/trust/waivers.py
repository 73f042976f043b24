"""Read and verify waivers: signed files in `submissions/waivers/` that name a rule, the bundles for
which it is waived, and the reason."""

import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from checker.trust.keyring import FileState, Keyring
from checker.trust.records import refused_role
from checker.trust.signature import verify_signature
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import (
    MAX_SIGNATURE_BYTES,
    Refused,
    build_refusal,
    read_plain,
    shorten,
)
from rules.bundle_format.records import WAIVER_DIR, WAIVER_FORMAT, WAIVER_NAMESPACE
from rules.finding import Problem
from rules.registry import rules_by_id
from rules.rule_ids import SIGNER_EXPIRED, WAIVER_BY_OWN_CENTER, WAIVER_EXPIRED, WAIVER_NOT_GOOD

_MAX_WAIVER_BYTES = 2**20


@dataclass(frozen=True)
class Waiver:
    """A waiver of valid form. `verify_waiver` verifies its signature when it is to count."""

    file: str
    """Its path below `submissions/`."""
    rule: str
    manifests: frozenset[str]
    """The SHA-256 of the manifests of the bundles that it is for."""
    below: str
    """The directory below `submissions/` whose bundles it is for, empty if it names
    `manifests`."""
    granted_by: str
    expires_at: str
    """The time from which it no longer counts, empty if it does not expire."""
    content: bytes
    signature: bytes

    def is_for(self, place: str, manifest_sha256: str) -> bool:
        """Whether it is for a bundle at `place` below `submissions/` with this manifest."""
        # With the slash: `a/b` is not for `a/bc`.
        inside = place == self.below or place.startswith(f"{self.below}/")
        return (bool(self.below) and inside) or manifest_sha256 in self.manifests


WaiverProblem = tuple[str, Problem]
"""A problem of a waiver, after the file's path below `submissions/`."""


def read_waivers(submissions: Path) -> tuple[list[Waiver], list[WaiverProblem]]:
    """The waivers of the directory `submissions`, and the problems of those of invalid form. No
    signature is verified."""
    directory = submissions / WAIVER_DIR
    try:
        names = _list_names(directory)
    except Refused as refusal:
        return [], [(WAIVER_DIR, problem) for problem in refusal.problems]
    waivers: list[Waiver] = []
    problems: list[WaiverProblem] = []
    for name in names:
        outcome = _read_cached(
            directory, name, _file_state(directory / name), _file_state(directory / f"{name}.sig")
        )
        if isinstance(outcome, Waiver):
            waivers.append(outcome)
        else:
            problems += [(f"{WAIVER_DIR}/{name}", problem) for problem in outcome.problems]
    return waivers, problems


def verify_waiver(waiver: Waiver, keyring: Keyring, valid_at: str = "") -> Refused | str:
    """The fingerprint of the key that signed the waiver, if the key is valid now or was at
    `valid_at`; otherwise why the signature does not count.

    Raises CheckerError without ssh-keygen.
    """
    outcome = _verify_cached(waiver, keyring, "")
    # Verify as of now first: only a key that was valid earlier needs the date of the acceptance.
    is_out_of_time = isinstance(outcome, Refused) and any(
        problem.rule == SIGNER_EXPIRED for problem in outcome.problems
    )
    return _verify_cached(waiver, keyring, valid_at) if is_out_of_time and valid_at else outcome


def find_waivers_in_force(
    keyring: Keyring,
    place: str,
    center: str,
    manifest_sha256: str,
    now: str,
    accepted_at: str = "",
) -> tuple[dict[str, str], list[Problem]]:
    """The rules that are waived for a bundle, each with the waiver's file, and the problems of
    waivers for this bundle alone.

    A waiver must not have expired at `accepted_at`, the time when the LOG says that the bundle was
    accepted, or `now` if it was not accepted.
    """
    waived: dict[str, str] = {}
    problems: list[Problem] = []
    for waiver in read_waivers(keyring.submissions)[0]:
        # Times in UTC of one form compare as text.
        expired = bool(waiver.expires_at) and waiver.expires_at <= (accepted_at or now)
        if expired or not waiver.is_for(place, manifest_sha256):
            continue
        fingerprint = verify_waiver(waiver, keyring, accepted_at)
        if isinstance(fingerprint, Refused):
            continue
        tie = keyring.find_tie(waiver.granted_by, center, fingerprint)
        if tie:
            message = (
                "A principal of the center whose bundles it is for cannot grant a waiver. This "
                "one does not count."
            )
            expected = f"a principal of another center than {shorten(center)}, with its own key"
            problems += build_refusal(
                WAIVER_BY_OWN_CENTER, waiver.file, "/granted_by", tie, expected, message
            ).problems
        else:
            # Several waivers may cover the same rule: name the first one.
            waived.setdefault(waiver.rule, waiver.file)
    return waived, problems


def judge_waivers(keyring: Keyring, now: str) -> tuple[list[Waiver], list[WaiverProblem]]:
    """All waivers that count, and the problems of the others."""
    waivers, problems = read_waivers(keyring.submissions)
    valid = []
    for waiver in waivers:
        outcome = verify_waiver(waiver, keyring)
        if isinstance(outcome, Refused):
            problems += [(waiver.file, problem) for problem in outcome.problems]
        elif waiver.expires_at and waiver.expires_at <= now:
            message = (
                "It still counts for bundles that the LOG says were accepted before. Other "
                "bundles need a new waiver."
            )
            found = f"it has expired: {waiver.expires_at}"
            refusal = build_refusal(
                WAIVER_EXPIRED, "", "/expires_at", found, "a waiver in force", message
            )
            problems += [(waiver.file, problem) for problem in refusal.problems]
        else:
            valid.append(waiver)
    return valid, problems


def _list_names(directory: Path) -> list[str]:
    """The names of the waivers in the directory. Raises Refused if it is no directory, or cannot be
    read."""
    try:
        if not stat.S_ISDIR(directory.lstat().st_mode):
            message = "Waivers are files in a directory of the repository itself."
            raise build_refusal(WAIVER_NOT_GOOD, "", "", "a link or a file", "a directory", message)
        names = sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        message = "Give the checker permission to read it."
        raise build_refusal(
            WAIVER_NOT_GOOD, "", "", f"cannot be read: {error.strerror}", "a directory", message
        ) from None
    # A signature without its document stands for a missing waiver: reading that reports it.
    return sorted({name.removesuffix(".sig") for name in names})


def _file_state(path: Path) -> FileState | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns, status.st_size


@lru_cache(maxsize=4096)
def _read_cached(
    directory: Path, name: str, _document: object, _signature: object
) -> Waiver | Refused:
    """The waiver `name`. The states of its two files are part of the key of the cache."""
    # Every bundle of a round asks for all waivers: read each once per process.
    try:
        return _read_waiver(directory, name)
    except Refused as refusal:
        return _without_traceback(refusal)


def _read_waiver(directory: Path, name: str) -> Waiver:
    if not name.endswith(".json"):
        message = (
            "This directory holds waivers only: NAME.json, each with its signature, "
            "NAME.json.sig. Remove this file."
        )
        raise build_refusal(
            WAIVER_NOT_GOOD, "", "", "not a waiver", "NAME.json and NAME.json.sig", message
        )
    content = read_plain(directory / name, name, _MAX_WAIVER_BYTES)
    record = read_document(name, content, WAIVER_FORMAT)
    try:
        signature = read_plain(directory / f"{name}.sig", f"{name}.sig", MAX_SIGNATURE_BYTES)
    except Refused as refusal:
        message = "A waiver counts only with a signature. Make it with bench-check waive."
        found = refusal.problems[0].violation.found
        raise build_refusal(
            WAIVER_NOT_GOOD, f"{name}.sig", "", found, "a signature", message
        ) from None
    rule = rules_by_id().get(record["rule"])
    if rule is None:
        message = "There is no such rule. Correct the waiver or remove it."
        raise build_refusal(
            WAIVER_NOT_GOOD, name, "/rule", record["rule"], "a rule of the book", message
        )
    if not rule.waivable:
        message = (
            "A waiver covers circumstances of a run. It cannot cover a false statement or an "
            "invalid form. Remove it."
        )
        raise build_refusal(
            WAIVER_NOT_GOOD, name, "/rule", record["rule"], "a rule that can be waived", message
        )
    return Waiver(
        file=f"{WAIVER_DIR}/{name}",
        rule=rule.id,
        manifests=frozenset(record.get("manifests", ())),
        below=record.get("below", ""),
        granted_by=record["granted_by"],
        expires_at=record.get("expires_at", ""),
        content=content,
        signature=signature,
    )


@lru_cache(maxsize=4096)
def _verify_cached(waiver: Waiver, keyring: Keyring, valid_at: str) -> Refused | str:
    name = Path(waiver.file).name + ".sig"
    # A refusal is returned, not raised, so that the cache keeps it too.
    try:
        fingerprint = verify_signature(
            waiver.signature,
            waiver.content,
            name,
            waiver.granted_by,
            WAIVER_NAMESPACE,
            keyring,
            valid_at,
        )
        if not keyring.grants(waiver.granted_by, WAIVER_NAMESPACE, fingerprint):
            raise refused_role(name, WAIVER_NAMESPACE)
    except Refused as refusal:
        return _without_traceback(refusal)
    return fingerprint


def _without_traceback(refusal: Refused) -> Refused:
    """A copy without the traceback. A cached traceback would keep in memory the bundle that was
    judged when the refusal was raised."""
    return Refused(*refusal.problems)
