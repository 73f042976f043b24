"""Makes and verifies SSH signatures. OpenSSH's ssh-keygen says whose key counts, for what and until
when, and has the last word.

What it says of a key holds for all that the key signs. So it is asked once about a key, a principal
and a namespace, and for a while after that this process does the arithmetic alone
(`checker/trust/sshsig.py`). Whatever is not as plain as that, it is asked.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from checker import CheckerError
from checker.trust import sshsig
from checker.trust.keyring import Keyring, fingerprint
from rules.bundle_format.files import Refused, refused
from rules.bundle_format.records import SUBMISSION_NAMESPACE
from rules.rule_ids import SIGNATURE_INVALID, SIGNER_EXPIRED, SIGNER_NOT_OF_PATH, SIGNER_REVOKED

NO_SSH_KEYGEN = "ssh-keygen was not found; install OpenSSH's client (8.7 or later)"
_KEY = re.compile(r"with \S+ key (SHA256:\S+)")
_LASTS_S = 60.0
"""How long what ssh-keygen said of a key is believed: a key that expires in the middle of a round
is good for so long still."""
_good_until_s: dict[tuple[object, ...], float] = {}
"""Until when, by the monotonic clock: by keyring, principal, namespace, time of validity (empty for
now) and fingerprint."""


class SigningError(Exception):
    """Something could not be signed; the message says why and what to do."""


def verify(
    path: Path,
    made: bytes,
    content: bytes,
    name: str,
    principal: str,
    namespace: str,
    keyring: Keyring,
    at: str = "",
) -> str:
    """The fingerprint of the key by which `principal` signed `content`. The signature is `made`,
    read from the file `path`, and called `name` in messages.

    The key must be valid now, or at the time `at` (such as 2026-11-21T17:00:00Z) where one is
    given: that at which somebody wrote down that the signature was good. A key that is revoked is
    never good. Raises Refused, and CheckerError where there is no ssh-keygen.
    """
    role = (keyring.directory, keyring.state, principal, namespace)
    plain = sshsig.key_and_signature(made, namespace)
    own = fingerprint(plain[0]) if plain else ""
    believed = any(
        _good_until_s.get((*role, time_of_validity, own), 0.0) > time.monotonic()
        for time_of_validity in ("", at)
    )
    if plain and believed and sshsig.is_good(*plain, content, namespace):
        return own
    allowed = ("-f", str(keyring.signers.absolute()), "-I", principal)
    revoked = ("-r", str(keyring.revoked.absolute())) if keyring.revoked else ()
    good, said = _ssh_keygen(
        "verify", namespace, *allowed, *revoked, signature=path, content=content
    )
    when = ""
    if not good and at and _out_of_time(said):
        when = at
        then = f"-Overify-time={re.sub('[^0-9]', '', at)}"
        good, said = _ssh_keygen(
            "verify", namespace, *allowed, *revoked, then, signature=path, content=content
        )
    if not good:
        raise _why(said, path, content, name, principal, namespace, allowed, bool(revoked))
    key = _KEY.search(said)
    if key is None:
        return ""
    if key[1] == own:  # not where a certificate vouches for the key: alone it is not in the keyring
        _good_until_s[*role, when, own] = time.monotonic() + _LASTS_S
    return key[1]


def sign(content: bytes, key: Path, namespace: str) -> bytes:
    """The signature of `content` by `key`, a private key, or a public one whose private part an
    ssh-agent holds.

    ssh-keygen asks for a passphrase on the terminal. Raises SigningError.
    """
    if key.is_dir():
        raise SigningError(
            f"{key}: this is a directory; name the key in it, such as {key}/id_ed25519"
        )
    if not key.is_file():
        raise SigningError(f"{key}: no such key; make one with: ssh-keygen -t ed25519 -f {key}")
    with tempfile.TemporaryDirectory(prefix="wattmark-sign-") as directory:
        # A file, not a pipe: where its input is no terminal, ssh-keygen asks nobody for the
        # passphrase.
        signed = Path(directory) / "content"
        signed.write_bytes(content)
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace, str(signed)]
        try:
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
            )
        except FileNotFoundError:
            raise SigningError(NO_SSH_KEYGEN) from None
        if done.returncode != 0:
            raise SigningError(
                f"{key}: ssh-keygen could not sign with it: "
                f"{_advice(key, done.stderr.decode(errors='replace'))}"
            )
        return signed.with_name("content.sig").read_bytes()


def _advice(key: Path, said: str) -> str:
    said = " ".join(said.split())
    private = key.with_suffix("") if key.suffix == ".pub" else key
    if "UNPROTECTED PRIVATE KEY" in said:
        return f"others may read it. Keep it for yourself: chmod 600 {private}"
    if "passphrase" in said:
        return (
            f"{said}. Without a terminal to ask for it, use an agent: ssh-add {private}, then "
            f"--key {private}.pub"
        )
    if "agent" in said or "No private key found" in said or key.suffix == ".pub":
        return (
            f"{said}. A public key needs an ssh-agent that holds its private part "
            f"(SSH_AUTH_SOCK): ssh-add {private}"
        )
    return said


def _why(
    said: str,
    path: Path,
    content: bytes,
    name: str,
    principal: str,
    namespace: str,
    allowed: tuple[str, ...],
    revocable: bool,
) -> Refused:
    """Why a signature is refused. It is, either way; this only finds out what to say."""
    what = "the manifest" if namespace == SUBMISSION_NAMESPACE else "what is signed"
    valid, invalid = _ssh_keygen("check-novalidate", namespace, signature=path, content=content)
    if not valid:
        message = (
            f"{what.capitalize()} was changed after signing, or this was signed as something "
            "else. Sign it again."
        )
        return refused(
            SIGNATURE_INVALID, name, "", invalid, f"a {namespace} signature of {what}", message
        )
    if revocable and _ssh_keygen("verify", namespace, *allowed, signature=path, content=content)[0]:
        message = "The key is no longer trusted. Ask its owner to sign again with the new key."
        return refused(
            SIGNER_REVOKED,
            name,
            "",
            "the key is in revoked_signers",
            "a key that is not revoked",
            message,
        )
    if _out_of_time(said):
        message = (
            "The key is not valid now. Sign again with the owner's present key. What the LOG "
            "says was accepted in time, stands."
        )
        return refused(
            SIGNER_EXPIRED, name, "", said, "a key within its valid-after and valid-before", message
        )
    message = (
        "Sign it with the owner's key, or ask the keeper of the keyring to add the key, for "
        "this namespace."
    )
    expected = f"a key of {principal} for the namespace {namespace}"
    return refused(
        SIGNER_NOT_OF_PATH,
        name,
        "",
        "a good signature by a key that the keyring does not accept",
        expected,
        message,
    )


def _out_of_time(said: str) -> bool:
    return "has expired" in said or "not yet valid" in said


def _ssh_keygen(
    action: str, namespace: str, *options: str, signature: Path, content: bytes
) -> tuple[bool, str]:
    """Whether ssh-keygen finds the signature good, and the line in which it says so or why not."""
    command = [
        "ssh-keygen",
        "-Y",
        action,
        *options,
        "-n",
        namespace,
        "-s",
        str(signature.absolute()),
    ]
    # A verdict must not depend on where it is given: dates in a keyring are read as UTC.
    environment = {**os.environ, "TZ": "UTC"}
    try:
        done = subprocess.run(
            command,
            input=content,
            capture_output=True,
            check=False,
            close_fds=False,
            env=environment,
        )
    except FileNotFoundError:
        raise CheckerError(NO_SSH_KEYGEN) from None
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    if done.returncode == 0:
        return True, done.stdout.decode(errors="replace").strip()
    timed = [line for line in lines if _out_of_time(line)]
    return False, (timed or lines or ["ssh-keygen refused it without saying why"])[0]
