"""Decide who may sign a bundle, and verify that such a principal signed it.

Who may sign follows from the place of the bundle and from the keyring, never from the bundle: below
`submissions/example/` the principals `example@…` of `submissions/keyring/allowed_signers` sign.
`checker/trust/signature.py` verifies the signatures with OpenSSH.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from checker.directory_names import check_names
from checker.find import PUBLISHED_DIR, resolve
from checker.trust.keyring import Keyring, belongs_to, read_keyring
from checker.trust.signature import verify_signature
from rules.bundle_format.files import Refused, build_refusal, shorten
from rules.bundle_format.manifest import SignedPlace
from rules.bundle_format.records import (
    KEYRING_DIR,
    MANIFEST_FILE,
    SIGNATURE_DIR,
    SIGNERS_FILE,
    SUBMISSION_NAMESPACE,
)
from rules.rule_ids import (
    KEY_UNDER_TWO_NAMES,
    KEYRING_MISSING,
    OUT_OF_PLACE,
    SIGNATURE_MISSING,
    SIGNER_NOT_OF_PATH,
)

SUBMISSION_PREFIX, _SUFFIX = f"{SIGNATURE_DIR}/submission.", ".sig"


@dataclass(frozen=True)
class Authority:
    """Who may sign what lies in one place: the keyring, the name of the center, and the place."""

    keyring: Keyring
    center: str
    place: str
    """The path of the bundle below `submissions`, with `/` between its parts; empty if it is not
    below."""
    submissions: Path
    """The directory that holds the directories of centers. Without a named keyring, it holds the
    keyring too."""

    @property
    def signed_place(self) -> SignedPlace:
        """The place that the manifest of a bundle in this place must name."""
        return SignedPlace(self.center, "/".join(self.place.split("/")[1:-1]))

    @property
    def principals(self) -> tuple[str, ...]:
        """The principals who may sign as submitter."""
        return self.keyring.principals_of(self.center)


def find_keyrings_above(path: Path) -> list[Path]:
    """The keyrings beside the resolved `path` and beside each of its parents, outermost first.

    Only the first one counts: a center could have put any other one where it lies.
    """
    # As text, because each part that is added to a Path takes longer than the look at the disk.
    innermost_first = (f"{str(p).rstrip('/')}/{KEYRING_DIR}" for p in (path, *path.parents))
    found = [k for k in innermost_first if os.path.lexists(f"{k}/{SIGNERS_FILE}")]
    return [Path(keyring) for keyring in reversed(found)]


def check_published_location(path: Path) -> None:
    """Raises Refused for a file of published figures that lies below a keyring, but not in the
    directory `published` beside the keyring or one level below it."""
    directory = resolve(path.parent)
    if directory.name != PUBLISHED_DIR and directory.parent.name == PUBLISHED_DIR:
        directory = directory.parent
    # The outermost keyring is the one of the round.
    for keyring in find_keyrings_above(directory)[:1]:
        # Below a center it would look like a submission, although nobody signed it.
        if directory.parent != keyring.parent:
            expected = f"a file in {keyring.parent / PUBLISHED_DIR}"
            message = (
                "Published figures are not signed, so they belong to the round and not to a "
                "center. Move the file or remove it."
            )
            raise build_refusal(
                OUT_OF_PLACE, path.name, "", "published figures below a center", expected, message
            )


def find_authority(bundle: Path, keyring: Path | None, root: Path) -> Authority:
    """Who may sign `bundle`, found below the checked path `root`. `keyring` is the directory that
    the user named; None to look for one at or above the bundle. Raises Refused."""
    bundle = resolve(bundle)
    outermost = next(iter(find_keyrings_above(bundle)), None)
    directory = outermost if keyring is None else resolve(keyring)
    if directory is None or not os.path.lexists(directory / SIGNERS_FILE):
        expected = f"a directory {KEYRING_DIR} with the file {SIGNERS_FILE}, at or above the bundle"
        message = (
            "Without a keyring no signature counts. Check bundles inside their submissions "
            "directory, or name a keyring with --keyring. --local judges a run without one."
        )
        raise build_refusal(
            KEYRING_MISSING,
            "",
            "",
            f"no keyring{f' in {keyring}' if keyring else ''}",
            expected,
            message,
        )
    keys = read_keyring(directory)
    # Also if the user names another keyring: otherwise a center could submit inside the directory
    # of another one, and a check of that directory alone would pass.
    submissions = outermost.parent if outermost else _guess_submissions(bundle, root, keys)
    parts = bundle.relative_to(submissions).parts
    check_names("/".join(parts))
    center = parts[0] if len(parts) > 1 else ""
    return Authority(keys, center, "/".join(parts), submissions)


def _guess_submissions(bundle: Path, root: Path, keyring: Keyring) -> Path:
    """The directory that holds the directories of centers, where no keyring marks it. The checked
    path `root` may be this directory, that of a center or of a system, or the bundle itself."""
    root = resolve(root)
    for center in (root, bundle.parent.parent, bundle.parent):
        if root.is_relative_to(center) and keyring.principals_of(center.name):
            return center.parent
    # A bundle does not lie beside the centers.
    return bundle.parent.parent if root in (bundle, bundle.parent) else root


def verify_submitter(contents: dict[str, bytes], authority: Authority, valid_at: str = "") -> str:
    """The principal who signed the bundle with the files `contents`, with a key that is valid now,
    or was at `valid_at`.

    Raises Refused if no principal with the authority signed, or if any signature is not good, and
    CheckerError without ssh-keygen.
    """
    signers = [
        name.removeprefix(SUBMISSION_PREFIX).removesuffix(_SUFFIX)
        for name in contents
        if name.startswith(SUBMISSION_PREFIX)
    ]
    expected = (
        "signed by one of: "
        f"{', '.join(authority.principals) or f'(no {authority.center}@… is in the keyring)'}"
    )
    if not signers:
        message = (
            "Sign it with bench-submit sign, on the machine that has the key. The bundle must "
            "lie in CENTER/SYSTEM/ beside the keyring."
        )
        raise build_refusal(
            SIGNATURE_MISSING, SIGNATURE_DIR, "", "no signature of the submitter", expected, message
        )
    # Every signature must be good: a reader could take any of them for the submitter's.
    for principal in signers:
        name = f"{SUBMISSION_PREFIX}{principal}{_SUFFIX}"
        if principal not in authority.principals:
            raise _unauthorized(name, principal, authority, expected)
        fingerprint = verify_signature(
            contents[name],
            contents[MANIFEST_FILE],
            name,
            principal,
            SUBMISSION_NAMESPACE,
            authority.keyring,
            valid_at,
        )
        _check_key_owner(name, principal, fingerprint, authority)
    return signers[0]


def _check_key_owner(name: str, principal: str, fingerprint: str, authority: Authority) -> None:
    """Raises Refused if the keyring gave the key to another center first. Who registers the key of
    a center again could move bundles of that center, without its private key."""
    owner = authority.keyring.find_key_owner(fingerprint)
    if owner and not belongs_to(owner, authority.center):
        message = (
            "A key signs for one center. Ask whoever maintains the keyring to remove the later "
            f"line, and sign with a key that only {authority.center} has."
        )
        raise build_refusal(
            KEY_UNDER_TWO_NAMES,
            name,
            "",
            f"signed as {principal} with the key of {owner}",
            f"a key of {authority.center} alone",
            message,
        )


def _unauthorized(name: str, principal: str, authority: Authority, expected: str) -> Refused:
    found = f"signed as {shorten(principal)} below the directory {shorten(authority.center)}"
    message = (
        "A center signs bundles in its own directory. Put the bundle below "
        "submissions/CENTER/SYSTEM/, where CENTER is the part of the principal before the @, "
        "and add a line with its key to the keyring's allowed_signers."
    )
    return build_refusal(SIGNER_NOT_OF_PATH, name, "", found, expected, message)
