"""Decide who may sign a bundle, and verify that such a principal signed it.

Who may sign follows from the place of the bundle and from the keyring, never from the bundle: below
`submissions/example/` the principals `example@…` of `submissions/keyring/allowed_signers` sign.
`checker/trust/signature.py` verifies the signatures with OpenSSH.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from checker.trust.keyring import Keyring, read_keyring
from checker.trust.signature import verify_signature
from rules.bundle_format.files import Refused, build_refusal, shorten
from rules.bundle_format.records import (
    KEYRING_DIR,
    MANIFEST_FILE,
    SIGNATURE_DIR,
    SIGNERS_FILE,
    SUBMISSION_NAMESPACE,
)
from rules.rule_ids import KEYRING_MISSING, OUT_OF_PLACE, SIGNATURE_MISSING, SIGNER_NOT_OF_PATH

_PREFIX, _SUFFIX = f"{SIGNATURE_DIR}/submission.", ".sig"


@dataclass(frozen=True)
class Authority:
    """Who may sign what lies in one place: the keyring, the name of the center, and the place."""

    keyring: Keyring
    center: str
    place: str
    """The path of the bundle below `submissions/`, with `/` between its parts; empty if it is not
    below."""

    @property
    def principals(self) -> tuple[str, ...]:
        """The principals who may sign as submitter."""
        return self.keyring.principals_of(self.center)


def find_keyrings_above(path: Path) -> list[Path]:
    """The keyrings beside the resolved `path` and beside each of its parents, outermost first.

    Only the first one counts: a center could have put any other one where it lies.
    """
    innermost_first = (p / KEYRING_DIR for p in (path, *path.parents))
    return [keyring for keyring in innermost_first if os.path.lexists(keyring / SIGNERS_FILE)][::-1]


def check_published_location(path: Path) -> None:
    """Raises Refused for a file of published figures that lies below a keyring, but not in the
    directory `published` beside the keyring."""
    directory = path.resolve().parent
    # The outermost keyring is the one of the round.
    for keyring in find_keyrings_above(directory)[:1]:
        # Below a center it would look like a submission, although nobody signed it.
        if directory.parent != keyring.parent:
            expected = f"a file in {keyring.parent / directory.name}"
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
    bundle, named = bundle.resolve(), keyring
    if keyring is None:
        keyring = next(iter(find_keyrings_above(bundle)), None)
        parts = bundle.relative_to(keyring.parent).parts if keyring else ()
        center = parts[0] if len(parts) > 1 else ""
    else:
        # A named keyring may lie anywhere, so the place follows from the checked path.
        keyring = keyring.resolve()
        parts = bundle.relative_to(root.resolve()).parts
        # The user may have named the bundle itself. Its parent then stands for the center.
        center = parts[0] if len(parts) > 1 else bundle.parent.name
    if keyring is None or not os.path.lexists(keyring / SIGNERS_FILE):
        expected = f"a directory {KEYRING_DIR} with the file {SIGNERS_FILE}, at or above the bundle"
        message = (
            "Without a keyring no signature counts. Check bundles inside their submissions "
            "directory, or name a keyring with --keyring."
        )
        raise build_refusal(
            KEYRING_MISSING,
            "",
            "",
            f"no keyring{f' in {named}' if named else ''}",
            expected,
            message,
        )
    return Authority(read_keyring(keyring), center, "/".join(parts))


def verify_submitter(
    bundle: Path, contents: dict[str, bytes], authority: Authority, valid_at: str = ""
) -> str:
    """The principal who signed `bundle`, with a key that is valid now, or was at `valid_at`.

    Raises Refused if no principal with the authority signed, or if any signature is not good, and
    CheckerError without ssh-keygen.
    """
    signers = [
        name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        for name in contents
        if name.startswith(_PREFIX)
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
        name = f"{_PREFIX}{principal}{_SUFFIX}"
        if principal not in authority.principals:
            raise _unauthorized(name, principal, authority, expected)
        verify_signature(
            bundle / name,
            contents[name],
            contents[MANIFEST_FILE],
            name,
            principal,
            SUBMISSION_NAMESPACE,
            authority.keyring,
            valid_at,
        )
    return signers[0]


def _unauthorized(name: str, principal: str, authority: Authority, expected: str) -> Refused:
    found = f"signed as {shorten(principal)} below the directory {shorten(authority.center)}"
    message = (
        "A center signs bundles in its own directory. Put the bundle below "
        "submissions/CENTER/SYSTEM/, where CENTER is the part of the principal before the @, "
        "and add a line with its key to the keyring's allowed_signers."
    )
    return build_refusal(SIGNER_NOT_OF_PATH, name, "", found, expected, message)
