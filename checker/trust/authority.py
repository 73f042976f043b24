"""Verifies that a bundle is what was signed, and that who signed it may: manifest, signature,
keyring.

The signatures are OpenSSH's (`checker/trust/signature.py`). Who is expected to sign follows from
where the bundle lies and from the keyring, never from the bundle: below `submissions/example/` sign
the principals `example@…` of `submissions/keyring/allowed_signers`.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from checker.trust.keyring import Keyring, read_keyring
from checker.trust.signature import verify
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, refused, shortened
from rules.bundle_format.records import (
    EVIDENCE_FILES,
    KEYRING_DIR,
    MANIFEST_FILE,
    MANIFEST_FORMAT,
    OPTIONAL_FILES,
    SIGNATURE_DIR,
    SIGNERS_FILE,
    SUBMISSION_NAMESPACE,
    Json,
)
from rules.finding import Problem
from rules.rule_ids import (
    FILE_ALTERED,
    FILE_MISSING,
    KEYRING_MISSING,
    MANIFEST_INCOMPLETE,
    MANIFEST_PATH_UNSAFE,
    OUT_OF_PLACE,
    SIGNATURE_MISSING,
    SIGNER_NOT_OF_PATH,
)

_PREFIX, _SUFFIX = f"{SIGNATURE_DIR}/submission.", ".sig"


@dataclass(frozen=True)
class Authority:
    """Who may sign what lies in one place: the keyring, the center's name, and the place below
    `submissions/`."""

    keyring: Keyring
    center: str
    place: str
    """The bundle's path below `submissions/`, with `/` between its parts; empty where it is not
    below."""

    @property
    def principals(self) -> tuple[str, ...]:
        return self.keyring.of_center(self.center)


def manifest_problems(contents: dict[str, bytes]) -> list[Problem]:
    """What is wrong between the manifest and the files of a bundle, given as bytes by name."""
    if MANIFEST_FILE not in contents:
        return []
    try:
        manifest = read_document(MANIFEST_FILE, contents[MANIFEST_FILE], MANIFEST_FORMAT)
    except Refused as refusal:
        return list(refusal.problems)
    found = (*_listing(manifest["files"], contents), *_differences(manifest["files"], contents))
    return [problem for refusal in found for problem in refusal.problems]


def keyrings_above(path: Path) -> list[Path]:
    """The keyrings beside the resolved `path` and beside what it lies in, outermost first.

    The first one decides: any other lies where a center could have put it.
    """
    inside_out = (p / KEYRING_DIR for p in (path, *path.parents))
    return [keyring for keyring in inside_out if os.path.lexists(keyring / SIGNERS_FILE)][::-1]


def published_where_it_may_be(path: Path) -> None:
    """Raises Refused for a file of published figures below a keyring that does not lie in
    `published` beside it."""
    place = path.resolve().parent
    for keyring in keyrings_above(place)[:1]:
        if place.parent != keyring.parent:
            expected = f"a file in {keyring.parent / place.name}"
            message = (
                "Nobody signs such figures, so they come with the round and not from a center. "
                "Move the file, or remove it."
            )
            raise refused(
                OUT_OF_PLACE, path.name, "", "published figures below a center", expected, message
            )


def authority(bundle: Path, keyring: Path | None, root: Path) -> Authority:
    """Who may sign `bundle`, found below the checked path `root`; `keyring` where one was named.
    Raises Refused."""
    bundle, named = bundle.resolve(), keyring
    if keyring is None:
        keyring = next(iter(keyrings_above(bundle)), None)
        below = bundle.relative_to(keyring.parent).parts if keyring else ()
        center = below[0] if len(below) > 1 else ""
    else:
        keyring = keyring.resolve()
        below = bundle.relative_to(root.resolve()).parts
        center = below[0] if len(below) > 1 else bundle.parent.name
    if keyring is None or not os.path.lexists(keyring / SIGNERS_FILE):
        expected = f"a directory {KEYRING_DIR} with the file {SIGNERS_FILE}, at or above the bundle"
        message = (
            "Without a keyring nobody's signature counts. Check bundles where they lie, or "
            "name one with --keyring."
        )
        raise refused(
            KEYRING_MISSING,
            "",
            "",
            f"no keyring{f' in {named}' if named else ''}",
            expected,
            message,
        )
    return Authority(read_keyring(keyring), center, "/".join(below))


def signer(bundle: Path, contents: dict[str, bytes], allowed: Authority, at: str = "") -> str:
    """The principal who signed `bundle`, with a key that is valid now, or was at `at`.

    Raises Refused where nobody signed who may, or one of the signatures is not good, and
    CheckerError where there is no ssh-keygen.
    """
    expected = (
        "signed by one of: "
        f"{', '.join(allowed.principals) or f'(no {allowed.center}@… is in the keyring)'}"
    )
    claimed = [
        n.removeprefix(_PREFIX).removesuffix(_SUFFIX) for n in contents if n.startswith(_PREFIX)
    ]
    if not claimed:
        message = (
            "Sign it with bench-submit sign, where the key is. The bundle must lie in "
            "CENTER/SYSTEM/ beside the keyring."
        )
        raise refused(
            SIGNATURE_MISSING, SIGNATURE_DIR, "", "no signature of the submitter", expected, message
        )
    for principal in claimed:
        name = f"{_PREFIX}{principal}{_SUFFIX}"
        if principal not in allowed.principals:
            found = (
                f"signed as {shortened(principal)} below the directory {shortened(allowed.center)}"
            )
            message = (
                "A center signs what lies in its own directory. Put the bundle below "
                "submissions/CENTER/SYSTEM/, where CENTER is "
                "what stands before the @ of the principal, and a line for its key into "
                "the keyring's allowed_signers."
            )
            raise refused(SIGNER_NOT_OF_PATH, name, "", found, expected, message)
        verify(
            bundle / name,
            contents[name],
            contents[MANIFEST_FILE],
            name,
            principal,
            SUBMISSION_NAMESPACE,
            allowed.keyring,
            at,
        )
    return claimed[0]


def _listing(entries: list[Json], contents: dict[str, bytes]) -> Iterator[Refused]:
    """What is wrong with the paths that a manifest lists."""
    paths = [entry["path"] for entry in entries]
    unsafe = [
        p
        for p in paths
        if p != str(PurePosixPath(p)) or p.startswith("/") or ".." in p.split("/") or "\\" in p
    ]
    for path in unsafe:
        message = (
            "A manifest lists files of its own bundle by name, or verifying it would read "
            "other files."
        )
        place = f"/files/{paths.index(path)}/path"
        yield refused(
            MANIFEST_PATH_UNSAFE,
            MANIFEST_FILE,
            place,
            shortened(path),
            "a path inside the bundle",
            message,
        )
    message = "A signature covers what the manifest lists. Make it anew with bench-submit sign."
    listed = [p for p in paths if p not in unsafe]
    needed = {n for n in EVIDENCE_FILES if n in contents or n not in OPTIONAL_FILES}
    for what, names in {
        "does not list": sorted(needed - set(listed)),
        "lists, though it is no file of a bundle,": sorted(set(listed) - set(EVIDENCE_FILES)),
        "lists twice": sorted({p for p in listed if listed.count(p) > 1}),
    }.items():
        if names:
            found = f"{what} {shortened(names)}"
            yield refused(
                MANIFEST_INCOMPLETE,
                MANIFEST_FILE,
                "/files",
                found,
                "every file of evidence, once",
                message,
            )


def _differences(entries: list[Json], contents: dict[str, bytes]) -> Iterator[Refused]:
    """The files that are not what the manifest says; one that is always there is missed where it
    was looked for."""
    message = "The file was changed after the run. Restore it, or run again."
    for entry in entries:
        name = entry["path"]
        if name in OPTIONAL_FILES and name not in contents:
            advice = "Restore it from where the run was made."
            yield refused(
                FILE_MISSING, name, "", "no such file", "every file that the manifest lists", advice
            )
        if name not in EVIDENCE_FILES or name not in contents:
            continue
        found = (len(contents[name]), hashlib.sha256(contents[name]).hexdigest())
        expected = (entry["size"], entry["sha256"])
        if found != expected:
            yield refused(
                FILE_ALTERED,
                name,
                "",
                "{} bytes, sha256 {}".format(*found),
                "{} bytes, sha256 {}".format(*expected),
                message,
            )
