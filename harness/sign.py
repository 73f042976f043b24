"""Signs a bundle's manifest with an SSH key, as git signs commits."""

from pathlib import Path

from checker.keyring import PRINCIPAL
from checker.signature import SigningError
from checker.signature import sign as sign_content
from rules.records import MANIFEST_FILE, SIGNATURE_DIR, SUBMISSION_NAMESPACE

__all__ = ["SigningError", "sign"]


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign `bundle`'s manifest as `principal` (such as `center@example.org`) and return the signature's path.

    `key` is a private key, or a public one whose private part an ssh-agent holds. A bundle has one submitter: an earlier
    signature of a submitter goes. Raises SigningError.
    """
    if not PRINCIPAL.fullmatch(principal):
        raise SigningError(f"--principal {principal}: must be like CENTER@example.org, of letters, digits and . _ + -")
    manifest = bundle / MANIFEST_FILE
    if not manifest.is_file():
        raise SigningError(f"{bundle}: no {MANIFEST_FILE} there, so it is not a finished bundle")
    made = sign_content(manifest.read_bytes(), key, SUBMISSION_NAMESPACE)
    signature = bundle / SIGNATURE_DIR / f"submission.{principal}.sig"
    signature.parent.mkdir(exist_ok=True)
    for earlier in signature.parent.glob("submission.*.sig"):
        earlier.unlink()
    signature.write_bytes(made)
    return signature
