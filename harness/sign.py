"""Signs a bundle's manifest with an SSH key, as git signs commits."""

import contextlib
import tempfile
from pathlib import Path

from checker import CheckerError
from checker.find import display_path
from checker.trust.authority import Authority, find_authority
from checker.trust.keyring import PRINCIPAL
from checker.trust.signature import SigningError, sign_content, verify_signature
from rules.bundle_format.files import Refused
from rules.bundle_format.records import (
    MANIFEST_FILE,
    SIGNATURE_DIR,
    SUBMISSION_NAMESPACE,
    WITHDRAWAL_NAMESPACE,
)
from rules.bundle_format.seal import write_durable
from rules.rule_ids import KEYRING_MISSING

__all__ = ["SigningError", "check_keyring", "make_signature", "sign", "write_signature"]


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign the manifest of `bundle` without a look at the keyring, and return the path of the
    signature. Raises as `make_signature` and `write_signature` do."""
    path, _ = write_signature(bundle, make_signature(bundle, key, principal), principal)
    return path


def make_signature(bundle: Path, key: Path, principal: str) -> bytes:
    """The signature over the manifest of `bundle` as `principal` (such as `center@example.org`).
    Nothing is written.

    `key` is a private key, or a public key whose private part an ssh-agent holds. Raises
    SigningError.
    """
    if not PRINCIPAL.fullmatch(principal):
        raise SigningError(
            f"--principal {principal!r}: must be like CENTER@example.org, of letters, "
            "digits and . _ + -"
        )
    manifest = bundle / MANIFEST_FILE
    if not manifest.is_file():
        raise SigningError(f"{bundle}: no {MANIFEST_FILE} there, so it is not a finished bundle")
    return sign_content(manifest.read_bytes(), key, SUBMISSION_NAMESPACE)


def check_keyring(bundle: Path, signature: bytes, principal: str) -> str:
    """Check that the keyring at or above `bundle` accepts the signature. Returns an empty text if
    it does, or why there is no keyring to check.

    Raises SigningError if the keyring does not accept it.
    """
    try:
        allowed = find_authority(bundle, None, bundle)
    except Refused as refusal:
        if all(problem.rule == KEYRING_MISSING for problem in refusal.problems):
            return refusal.problems[0].violation.found
        raise SigningError(_describe_refusal(bundle, refusal)) from None
    if principal not in allowed.principals:
        raise SigningError(_describe_unknown(bundle, allowed, principal))
    with tempfile.TemporaryDirectory(prefix="wattmark-sign-") as directory:
        path = Path(directory) / "manifest.sig"
        path.write_bytes(signature)
        manifest = (bundle / MANIFEST_FILE).read_bytes()
        try:
            verify_signature(
                path,
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


def write_signature(bundle: Path, signature: bytes, principal: str) -> tuple[Path, list[str]]:
    """Write the signature. Returns its path, and the names of the signatures by other principals,
    which are removed because a bundle has one submitter.

    Raises SigningError if it cannot be written; the former signatures then remain.
    """
    path = bundle / SIGNATURE_DIR / f"submission.{principal}.sig"
    try:
        path.parent.mkdir(exist_ok=True)
        write_durable(path, signature)
        others = sorted(other for other in path.parent.glob("submission.*.sig") if other != path)
        for other in others:
            other.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):  # fails if it has files, so it existed before
            path.parent.rmdir()
        raise SigningError(f"{path}: cannot be written: {error.strerror}") from None
    return path, [other.name for other in others]


def _describe_unknown(bundle: Path, allowed: Authority, principal: str) -> str:
    submissions = display_path(allowed.keyring.submissions, [bundle])
    known = ", ".join(allowed.principals) or "nobody"
    return (
        f"{bundle}: not signed. The keyring in {submissions} lets {known} sign here, "
        f"and not {principal}.\n"
        "  A center signs below its own directory, here "
        f"{submissions}/{principal.partition('@')[0]}/. "
        "The keyring needs a line for its key:\n"
        f'  {principal} namespaces="{SUBMISSION_NAMESPACE},{WITHDRAWAL_NAMESPACE}" KEYTYPE KEY'
    )


def _describe_refusal(bundle: Path, refusal: Refused) -> str:
    (problem, *_) = refusal.problems
    return (
        f"{bundle}: not signed, because it would be {problem.rule}: {problem.violation.found}. "
        f"{problem.violation.message}"
    )
