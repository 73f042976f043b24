"""Signs a bundle's manifest with an SSH key, as git signs commits, and hands the bundle in."""

import contextlib
from pathlib import Path

from checker import CheckerError
from checker.directory_names import check_names
from checker.find import display_path
from checker.terminal import UnwritableError, describe_unwritable
from checker.trust.authority import Authority, find_authority
from checker.trust.keyring import PRINCIPAL
from checker.trust.manifest import may_lack_place, read_main_document
from checker.trust.records import REQUEST
from checker.trust.requests import build_request
from checker.trust.signature import NoKeyError as NoKeyError
from checker.trust.signature import SigningError, sign_content, verify_signature
from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.manifest import SignedPlace, name_place, read_manifest
from rules.bundle_format.records import (
    MANIFEST_FILE,
    SIGNATURE_DIR,
    SUBMISSION_NAMESPACE,
    WITHDRAWAL_NAMESPACE,
)
from rules.bundle_format.seal import encode_json, write_all_durable
from rules.rule_ids import KEYRING_MISSING

__all__ = [
    "SigningError",
    "check_keyring",
    "find_place",
    "make_signature",
    "prepare_manifest",
    "sign",
    "write_request",
    "write_signature",
]


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign the manifest of `bundle` and hand the bundle in, whether or not the keyring knows the
    key. Returns the path of the signature. Raises as the functions below do."""
    manifest = prepare_manifest(bundle, principal)
    signature = make_signature(manifest, key, principal)
    path, _ = write_signature(bundle, manifest, signature, principal)
    write_request(bundle, key, principal)
    return path


def prepare_manifest(bundle: Path, principal: str) -> bytes:
    """The manifest of `bundle` as `principal` signs it: with the center and the system that the
    bundle lies in. A manifest of version 1 of an older rule book stays as it is.

    Nothing is written. Raises SigningError if the bundle has no manifest that can be read.
    """
    path = bundle / MANIFEST_FILE
    if not path.is_file():
        raise SigningError(f"{bundle}: no {MANIFEST_FILE} there, so it is not a finished bundle")
    raw = path.read_bytes()
    try:
        manifest = read_manifest(raw)
    except Refused as refusal:
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    if may_lack_place(manifest, read_main_document(read_files(bundle).contents)):
        return raw
    return name_place(manifest, find_place(bundle, principal))


def find_place(bundle: Path, principal: str) -> SignedPlace:
    """The center and the system that `bundle` lies in. Without a keyring above it, the center is
    that of `principal`, and the system is the directory that holds the bundle. Raises SigningError
    if a name of a directory cannot be signed."""
    try:
        return find_authority(bundle, None, bundle).signed_place
    except Refused as refusal:
        if not _lacks_keyring(refusal):
            raise SigningError(_describe_refusal(bundle, refusal)) from None
    directory = bundle.resolve()
    center, system = principal.partition("@")[0], directory.parent.name
    try:
        check_names(f"{center}/{system}/{directory.name}")
    except Refused as refusal:
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    return SignedPlace(center, system)


def _lacks_keyring(refusal: Refused) -> bool:
    return all(problem.rule == KEYRING_MISSING for problem in refusal.problems)


def make_signature(manifest: bytes, key: Path, principal: str) -> bytes:
    """The signature over `manifest` as `principal` (such as `center@example.org`). Nothing is
    written.

    `key` is a private key, or a public key whose private part an ssh-agent holds. Raises
    SigningError.
    """
    if not PRINCIPAL.fullmatch(principal):
        raise SigningError(
            f"--principal {principal!r}: must be like CENTER@example.org, of letters, "
            "digits and . _ + -"
        )
    return sign_content(manifest, key, SUBMISSION_NAMESPACE)


def check_keyring(bundle: Path, manifest: bytes, signature: bytes, principal: str) -> str:
    """Check that the keyring at or above `bundle` accepts the signature of `manifest`. Returns an
    empty text if it does, or why there is no keyring to check.

    Raises SigningError if the keyring does not accept it.
    """
    try:
        allowed = find_authority(bundle, None, bundle)
    except Refused as refusal:
        if _lacks_keyring(refusal):
            return refusal.problems[0].violation.found
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    if principal not in allowed.principals:
        raise SigningError(_describe_unknown(bundle, allowed, principal))
    try:
        verify_signature(
            signature,
            manifest,
            f"--principal {principal}",
            principal,
            SUBMISSION_NAMESPACE,
            allowed.keyring,
        )
    except Refused as refusal:
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    except CheckerError as error:
        raise SigningError(str(error)) from None
    return ""


def write_signature(
    bundle: Path, manifest: bytes, signature: bytes, principal: str
) -> tuple[Path, list[str]]:
    """Write the signature and the manifest that it signs. Returns the path of the signature, and
    the names of the signatures by other principals, which are removed because a bundle has one
    submitter.

    Raises UnwritableError if they cannot be written; the former files then remain.
    """
    path = bundle / SIGNATURE_DIR / f"submission.{principal}.sig"
    try:
        path.parent.mkdir(exist_ok=True)
        write_all_durable({path: signature, bundle / MANIFEST_FILE: manifest})
        others = sorted(other for other in path.parent.glob("submission.*.sig") if other != path)
        # Requests are for the manifest as it was.
        for other in (*others, *path.parent.glob(f"{REQUEST}.*")):
            other.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):  # fails if it has files, so it existed before
            path.parent.rmdir()
        raise UnwritableError(describe_unwritable(error, path)) from None
    return path, [other.name for other in others]


def write_request(bundle: Path, key: Path, principal: str) -> Path | None:
    """Sign that the center of `principal` hands `bundle` in to the round that it lies in. Returns
    the path of the request; None without a keyring above the bundle, because that is no round.

    Raises SigningError, and UnwritableError.
    """
    try:
        submissions = find_authority(bundle, None, bundle).submissions
    except Refused:
        return None
    request = build_request((bundle / MANIFEST_FILE).read_bytes(), principal, submissions)
    content = encode_json(request)
    path = bundle / SIGNATURE_DIR / f"{REQUEST}.{principal}.json"
    signed = sign_content(content, key, SUBMISSION_NAMESPACE)
    try:
        write_all_durable({path: content, path.with_suffix(".sig"): signed})
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, path)) from None
    return path


def _describe_unknown(bundle: Path, allowed: Authority, principal: str) -> str:
    submissions = display_path(allowed.keyring.submissions, [bundle])
    center = principal.partition("@")[0]
    refusal = f"{bundle}: not signed, because it lies in the directory of center {allowed.center}"
    if allowed.keyring.principals_of(center):
        return (
            f"{refusal}. Move it below {submissions}/{center}/, or sign it with a key of "
            f"{allowed.center}."
        )
    known = ", ".join(allowed.principals) or "no principal"
    return (
        f"{refusal}, and the keyring in {submissions} lets {known} sign there.\n"
        f"  {principal} signs bundles below {submissions}/{center}/. "
        "The keyring needs a line for the key:\n"
        f'  {principal} namespaces="{SUBMISSION_NAMESPACE},{WITHDRAWAL_NAMESPACE}" KEYTYPE KEY'
    )


def _describe_refusal(bundle: Path, refusal: Refused) -> str:
    (problem, *_) = refusal.problems
    return (
        f"{bundle}: not signed, because it would be {problem.rule}: {problem.violation.found}. "
        f"{problem.violation.message}"
    )
