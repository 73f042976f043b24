"""Signs a bundle's manifest with an SSH key, as git signs commits; OpenSSH does the work."""

import re
import subprocess
from pathlib import Path

from rules.records import MANIFEST_FILE, SIGNATURE_DIR, SUBMISSION_NAMESPACE

PRINCIPAL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9._-]+")


class SigningError(Exception):
    """The bundle could not be signed; the message says why and what to do."""


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
    if not key.is_file():
        raise SigningError(f"{key}: no such key; make one with: ssh-keygen -t ed25519 -f {key}")
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", SUBMISSION_NAMESPACE]
    try:
        done = subprocess.run(command, input=manifest.read_bytes(), capture_output=True, check=False)
    except FileNotFoundError:
        raise SigningError("ssh-keygen was not found; install OpenSSH's client (8.1 or later)") from None
    if done.returncode != 0:
        raise SigningError(f"{key}: ssh-keygen could not sign with it: {done.stderr.decode(errors='replace').strip()}")
    signature = bundle / SIGNATURE_DIR / f"submission.{principal}.sig"
    signature.parent.mkdir(exist_ok=True)
    for earlier in signature.parent.glob("submission.*.sig"):
        earlier.unlink()
    signature.write_bytes(done.stdout)
    return signature
