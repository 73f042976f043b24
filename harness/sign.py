"""Signs a bundle's manifest with an SSH key, as git signs commits; OpenSSH does the work."""

import subprocess
from pathlib import Path

from rules.records import MANIFEST_FILE, SIGNATURE_DIR, SUBMISSION_NAMESPACE


class SigningError(Exception):
    """The bundle could not be signed; the message says why and what to do."""


def sign(bundle: Path, key: Path, principal: str) -> Path:
    """Sign `bundle`'s manifest as `principal` (such as `center@example.org`) and return the signature's path.

    `key` is a private key, or a public one whose private part an ssh-agent holds. Raises SigningError.
    """
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
    signature.write_bytes(done.stdout)
    return signature
