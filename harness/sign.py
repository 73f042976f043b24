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

__all__ = ["SigningError", "compare", "make", "put", "sign"]


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign `bundle`'s manifest, asking no keyring, and return the signature's path. Raises as
    `make` and `put` do."""
    path, _ = put(bundle, make(bundle, key, principal), principal)
    return path


def make(bundle: Path, key: Path, principal: str) -> bytes:
    """The signature over `bundle`'s manifest as `principal` (such as `center@example.org`). Nothing
    is written.

    `key` is a private key, or a public one whose private part an ssh-agent holds. Raises
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


def compare(bundle: Path, made: bytes, principal: str) -> str:
    """Ask the keyring at or above `bundle` whether the signature `made` would count: empty if so,
    why not asked otherwise.

    Raises SigningError where it would not count.
    """
    try:
        allowed = find_authority(bundle, None, bundle)
    except Refused as refusal:
        if all(problem.rule == KEYRING_MISSING for problem in refusal.problems):
            return refusal.problems[0].violation.found
        raise SigningError(_refusal(bundle, refusal)) from None
    if principal not in allowed.principals:
        raise SigningError(_unknown(bundle, allowed, principal))
    with tempfile.TemporaryDirectory(prefix="wattmark-sign-") as directory:
        signature = Path(directory) / "manifest.sig"
        signature.write_bytes(made)
        manifest = (bundle / MANIFEST_FILE).read_bytes()
        try:
            verify_signature(
                signature,
                made,
                manifest,
                f"--principal {principal}",
                principal,
                SUBMISSION_NAMESPACE,
                allowed.keyring,
            )
        except Refused as refusal:
            raise SigningError(_refusal(bundle, refusal)) from None
        except CheckerError as error:
            raise SigningError(str(error)) from None
    return ""


def put(bundle: Path, made: bytes, principal: str) -> tuple[Path, list[str]]:
    """Write the signature `made` and return its path, and the names of earlier ones by others,
    which go: one signs a bundle.

    Raises SigningError where it cannot be written; what was there is there still.
    """
    signature = bundle / SIGNATURE_DIR / f"submission.{principal}.sig"
    try:
        signature.parent.mkdir(exist_ok=True)
        write_durable(signature, made)
        others = sorted(
            path for path in signature.parent.glob("submission.*.sig") if path != signature
        )
        for other in others:
            other.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):  # not empty: it was there before
            signature.parent.rmdir()
        raise SigningError(f"{signature}: cannot be written: {error.strerror}") from None
    return signature, [path.name for path in others]


def _unknown(bundle: Path, allowed: Authority, principal: str) -> str:
    submissions = display_path(allowed.keyring.submissions, [bundle])
    known = ", ".join(allowed.principals) or "nobody"
    return (
        f"{bundle}: not signed, for the keyring in {submissions} lets {known} sign here, "
        f"and not {principal}.\n"
        "  A center signs below its own directory, here "
        f"{submissions}/{principal.partition('@')[0]}/. "
        "The keyring needs a line for its key:\n"
        f'  {principal} namespaces="{SUBMISSION_NAMESPACE},{WITHDRAWAL_NAMESPACE}" KEYTYPE KEY'
    )


def _refusal(bundle: Path, refusal: Refused) -> str:
    (problem, *_) = refusal.problems
    return (
        f"{bundle}: not signed, for it would be {problem.rule}: {problem.violation.found}. "
        f"{problem.violation.message}"
    )
