"""Signs a bundle's manifest with an SSH key, as git signs commits, and hands the bundle in."""

import contextlib
from dataclasses import dataclass
from itertools import chain
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
from checker.trust.signature import SigningError, sign_contents, verify_signature
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
    "describe_next_step",
    "find_place",
    "make_signatures",
    "prepare_manifest",
    "sign",
    "write_signatures",
]


@dataclass(frozen=True)
class SignedFiles:
    """What signing writes into a bundle. `request` and its signature are empty without a keyring
    above the bundle, because that is no round."""

    manifest: bytes
    manifest_signature: bytes
    request: bytes = b""
    request_signature: bytes = b""


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign the manifest of `bundle` and hand the bundle in, whether or not the keyring knows the
    key. Returns the path of the signature. Raises as the functions below do."""
    manifest = prepare_manifest(bundle, principal)
    signed = make_signatures(bundle, manifest, key, principal)
    return write_signatures(bundle, signed, principal)[0]


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


def make_signatures(bundle: Path, manifest: bytes, key: Path, principal: str) -> SignedFiles:
    """Sign `manifest` as `principal` (such as `center@example.org`), and the request that hands
    `bundle` in to the round that it lies in. Nothing is written.

    `key` is a private key, or a public key whose private part an ssh-agent holds. Raises
    SigningError.
    """
    if not PRINCIPAL.fullmatch(principal):
        raise SigningError(
            f"--principal {principal!r}: must be like CENTER@example.org, of letters, "
            "digits and . _ + -"
        )
    contents = [manifest]
    with contextlib.suppress(Refused):
        submissions = find_authority(bundle, None, bundle).submissions
        contents.append(encode_json(build_request(manifest, principal, submissions)))
    # In one call, because ssh-keygen asks for a passphrase in each.
    signatures = sign_contents(contents, key, SUBMISSION_NAMESPACE)
    return SignedFiles(*chain.from_iterable(zip(contents, signatures, strict=True)))


def check_keyring(bundle: Path, signed: SignedFiles, principal: str, key: Path) -> str:
    """Check that the keyring at or above `bundle` accepts the signature of the manifest by `key`.
    Returns an empty text if it does, or why there is no keyring to check.

    Raises SigningError if the keyring does not accept it.
    """
    try:
        allowed = find_authority(bundle, None, bundle)
    except Refused as refusal:
        if _lacks_keyring(refusal):
            return refusal.problems[0].violation.found
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    if principal not in allowed.principals:
        raise SigningError(_describe_unknown(bundle, allowed, principal, key))
    try:
        verify_signature(
            signed.manifest_signature,
            signed.manifest,
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


def write_signatures(
    bundle: Path, signed: SignedFiles, principal: str
) -> tuple[Path, Path | None, list[str]]:
    """Write the signed files into `bundle`. Returns the path of the signature, that of the request
    if there is one, and the names of the signatures by other principals, which are removed because
    a bundle has one submitter.

    Raises UnwritableError if they cannot be written; the former files then remain.
    """
    directory = bundle / SIGNATURE_DIR
    path = directory / f"submission.{principal}.sig"
    request = directory / f"{REQUEST}.{principal}.json" if signed.request else None
    contents = {path: signed.manifest_signature, bundle / MANIFEST_FILE: signed.manifest}
    if request:
        contents |= {
            request: signed.request,
            request.with_suffix(".sig"): signed.request_signature,
        }
    try:
        directory.mkdir(exist_ok=True)
        write_all_durable(contents)
        others = sorted(set(directory.glob("submission.*.sig")) - contents.keys())
        # Requests are for the manifest as it was.
        for other in {*others, *directory.glob(f"{REQUEST}.*")} - contents.keys():
            other.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):  # fails if it has files, so it existed before
            directory.rmdir()
        raise UnwritableError(describe_unwritable(error, path)) from None
    return path, request, [other.name for other in others]


def _describe_unknown(bundle: Path, allowed: Authority, principal: str, key: Path) -> str:
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
        f"{submissions}/keyring/allowed_signers needs this line:\n"
        f"  {_describe_keyring_line(principal, key)}"
    )


def describe_next_step(bundle: Path, key: Path, principal: str, lacks_keyring: bool) -> str:
    """What remains to be done with a signed bundle."""
    if lacks_keyring:
        line = _describe_keyring_line(principal, key)
        return f"whoever runs the round adds this line to keyring/allowed_signers:\n  {line}"
    submissions = display_path(find_authority(bundle, None, bundle).submissions, [bundle])
    return (
        f"bench-check {submissions}; then, by whoever runs the round: bench-check accept "
        f"{submissions}"
    )


def _describe_keyring_line(principal: str, key: Path) -> str:
    """The line of a keyring for `key`, if its public part lies beside it."""
    public_key = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    try:
        kind, text = public_key.read_text(encoding="ascii").split()[:2]
    except (OSError, ValueError):
        kind, text = "KEYTYPE", "KEY"
    return f'{principal} namespaces="{SUBMISSION_NAMESPACE},{WITHDRAWAL_NAMESPACE}" {kind} {text}'


def _describe_refusal(bundle: Path, refusal: Refused) -> str:
    (problem, *_) = refusal.problems
    return (
        f"{bundle}: not signed, because it would be {problem.rule}: {problem.violation.found}. "
        f"{problem.violation.message}"
    )
