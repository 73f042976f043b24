"""Make and verify SSH signatures. OpenSSH's ssh-keygen decides whose key counts, for which
namespace and until when.

Its decision on a key holds for everything that the key signs. So this module asks ssh-keygen once
for each key, principal and namespace, remembers the answer for a minute, and meanwhile verifies
plain Ed25519 signatures itself (`checker/trust/sshsig.py`). ssh-keygen verifies everything else.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from checker import CheckerError
from checker.trust import sshsig
from checker.trust.keyring import Keyring, compute_fingerprint
from rules.bundle_format.files import Refused, build_refusal
from rules.bundle_format.records import SIGNERS_FILE, SUBMISSION_NAMESPACE
from rules.rule_ids import SIGNATURE_INVALID, SIGNER_EXPIRED, SIGNER_NOT_OF_PATH, SIGNER_REVOKED

NO_SSH_KEYGEN = "ssh-keygen was not found; install OpenSSH's client (8.7 or later)"
_KEY = re.compile(r"with \S+ key (SHA256:\S+)")
_CACHE_LIFETIME_S = 60.0
"""How long an answer of ssh-keygen on a key is reused. A key that expires while a round is judged
counts for at most so long after."""
_TIME_LIMIT_S = 60.0
"""How long ssh-keygen may take for one signature. It needs some milliseconds."""
_accepted_until_s: dict[tuple[object, ...], float] = {}
"""Until when a key is accepted, in s of the monotonic clock: by keyring, principal, namespace, time
of validity (empty for now) and fingerprint."""


class SigningError(Exception):
    """Something could not be signed. The message gives the reason and what to do."""


class NoKeyError(SigningError):
    """There is no key at the path that the user named."""


def verify_signature(
    armoured: bytes,
    content: bytes,
    name: str,
    principal: str,
    namespace: str,
    keyring: Keyring,
    valid_at: str = "",
) -> str:
    """Verify that `principal` signed `content`, and return the fingerprint of the key. `armoured`
    is the content of the signature file, which messages call `name`.

    The key must be valid now, or at the time `valid_at` (such as 2026-11-21T17:00:00Z) if one is
    given: the time at which the LOG recorded that the signature was good. A revoked key is never
    good. Raises Refused, and CheckerError without ssh-keygen.
    """
    role = (keyring.directory, keyring.state, principal, namespace)
    plain = sshsig.parse_signature(armoured, namespace)
    fingerprint = compute_fingerprint(plain[0]) if plain else ""
    is_cached = any(
        _accepted_until_s.get((*role, time_of_validity, fingerprint), 0.0) > time.monotonic()
        for time_of_validity in ("", valid_at)
    )
    if plain and is_cached and sshsig.is_valid(*plain, content, namespace):
        return fingerprint
    allowed = ("-f", str(keyring.signers.absolute()), "-I", principal)
    # OpenSSH checks revocation only if it is given the list.
    revoked = ("-r", str(keyring.revoked.absolute())) if keyring.revoked else ()
    options = (*allowed, *revoked)
    # As of now first: the time of the LOG is needed only for a key that has expired since.
    ask = partial(_ssh_keygen, namespace=namespace, signature=armoured, content=content)
    time_of_validity = ""
    try:
        good, answer = ask("verify", *options)
        if not good and valid_at and _is_out_of_time(answer):
            time_of_validity = valid_at
            verify_time = f"-Overify-time={re.sub('[^0-9]', '', valid_at)}"
            good, answer = ask("verify", *options, verify_time)
        if not good:
            raise _explain_refusal(answer, ask, name, principal, namespace, allowed, bool(revoked))
    except subprocess.TimeoutExpired:
        raise _refuse_for_time(name, namespace) from None
    key = _KEY.search(answer)
    if key is None:
        return ""
    # The two differ if a certificate vouches for the key: the keyring does not list the key itself,
    # so the answer must not be reused for it.
    if key[1] == fingerprint:
        _accepted_until_s[*role, time_of_validity, fingerprint] = (
            time.monotonic() + _CACHE_LIFETIME_S
        )
    return key[1]


def _refuse_for_time(name: str, namespace: str) -> Refused:
    return build_refusal(
        SIGNATURE_INVALID,
        name,
        "",
        f"ssh-keygen gave no answer within {_TIME_LIMIT_S:g} s",
        f"a {namespace} signature that ssh-keygen can verify",
        "Judge the bundle again when the machine has less to do. If that does not help, sign it "
        "again.",
    )


def sign_content(content: bytes, key: Path, namespace: str) -> bytes:
    """Sign `content` with `key` and return the signature file. Raises as `sign_contents`."""
    (signature,) = sign_contents([content], key, namespace)
    return signature


def sign_contents(contents: Sequence[bytes], key: Path, namespace: str) -> list[bytes]:
    """Sign each of `contents` with `key` and return the signature files. `key` is a private key, or
    a public key whose private part an ssh-agent holds.

    ssh-keygen asks for a passphrase on the terminal, once. Raises SigningError, which is a
    NoKeyError if there is no file `key`.
    """
    if key.is_dir():
        raise NoKeyError(
            f"{key}: this is a directory; name the key in it, such as {key}/id_ed25519"
        )
    if not key.is_file():
        raise NoKeyError(f"{key}: no such key; make one with: ssh-keygen -t ed25519 -f {key}")
    with tempfile.TemporaryDirectory(prefix="wattmark-sign-") as directory:
        # Pass files, not a pipe: ssh-keygen asks for the passphrase only if its input is a
        # terminal.
        files = [Path(directory) / str(number) for number in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace]
        try:
            process = subprocess.run(
                [*command, *map(str, files)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        except FileNotFoundError:
            raise SigningError(NO_SSH_KEYGEN) from None
        if process.returncode != 0:
            raise SigningError(
                f"{key}: ssh-keygen could not sign with it: "
                f"{_advise(key, process.stderr.decode(errors='replace'))}"
            )
        return [file.with_suffix(".sig").read_bytes() for file in files]


def _advise(key: Path, complaint: str) -> str:
    complaint = " ".join(complaint.split())
    private = key.with_suffix("") if key.suffix == ".pub" else key
    if "UNPROTECTED PRIVATE KEY" in complaint:
        return f"other users may read it. Make it readable for you only: chmod 600 {private}"
    if "passphrase" in complaint:
        return (
            f"{complaint}. Without a terminal to ask for it, use an agent: ssh-add {private}, then "
            f"--key {private}.pub"
        )
    if "agent" in complaint or "No private key found" in complaint or key.suffix == ".pub":
        return (
            f"{complaint}. A public key needs an ssh-agent that holds its private part "
            f"(SSH_AUTH_SOCK): ssh-add {private}"
        )
    return complaint


def _explain_refusal(
    answer: str,
    ask: Callable[..., tuple[bool, str]],
    name: str,
    principal: str,
    namespace: str,
    allowed: tuple[str, ...],
    has_revoked: bool,
) -> Refused:
    """Why a signature is refused. The refusal stands; this only finds the rule and the message.
    `ask` asks ssh-keygen about the signature."""
    subject = "the manifest" if namespace == SUBMISSION_NAMESPACE else "the document"
    # `check-novalidate` verifies the signature without asking whose key it is.
    valid, reason = ask("check-novalidate")
    if not valid:
        rule, found = SIGNATURE_INVALID, reason
        expected = f"a {namespace} signature of {subject}"
        message = (
            f"{subject.capitalize()} was changed after signing, or the signature is for another "
            "namespace. Sign it again."
        )
    # Verify again without the list of revoked keys: if the signature is then good, the key is on
    # the list.
    elif has_revoked and ask("verify", *allowed)[0]:
        rule, found = SIGNER_REVOKED, "the key is in revoked_signers"
        expected = "a key that is not revoked"
        message = "The key is no longer trusted. Ask its owner to sign again with the new key."
    elif _is_out_of_time(answer):
        rule, found = SIGNER_EXPIRED, answer
        expected = "a key within its valid-after and valid-before"
        message = (
            "The key is not valid now. Sign again with the owner's present key. A bundle that the "
            "LOG accepted while the key was valid stays accepted."
        )
    else:
        rule, found = (
            SIGNER_NOT_OF_PATH,
            "a good signature by a key that the keyring does not accept",
        )
        if ": bad options: " in answer:
            # The line of the key in the keyring, and why OpenSSH skips it.
            found += f" (line {answer.rpartition(f'{SIGNERS_FILE}:')[2]})"
        expected = f"a key of {principal} for the namespace {namespace}"
        message = (
            "Sign it with the owner's key, or ask whoever maintains the keyring to add the key for "
            "this namespace."
        )
    return build_refusal(rule, name, "", found, expected, message)


def _is_out_of_time(answer: str) -> bool:
    return "has expired" in answer or "not yet valid" in answer


def _ssh_keygen(
    action: str, *options: str, namespace: str, signature: bytes, content: bytes
) -> tuple[bool, str]:
    """Whether ssh-keygen accepts the signature, and its answer: the line that names the key, or the
    line that gives the reason. Raises subprocess.TimeoutExpired."""
    # Read the dates of a keyring as UTC, so that the verdict does not depend on the time zone.
    environment = {**os.environ, "TZ": "UTC"}
    # ssh-keygen must see the bytes that were read. The file in the bundle may have been replaced
    # since, by one without end or by a FIFO.
    with tempfile.NamedTemporaryFile(prefix="wattmark-", suffix=".sig") as file:
        file.write(signature)
        file.flush()
        command = ["ssh-keygen", "-Y", action, *options, "-n", namespace, "-s", file.name]
        try:
            process = subprocess.run(
                command,
                input=content,
                capture_output=True,
                check=False,
                close_fds=False,
                env=environment,
                timeout=_TIME_LIMIT_S,
            )
        except FileNotFoundError:
            raise CheckerError(NO_SSH_KEYGEN) from None
    # ssh-keygen writes most complaints to its error output, but some to its output.
    lines = (process.stderr or process.stdout).decode(errors="replace").strip().splitlines()
    if process.returncode == 0:
        return True, process.stdout.decode(errors="replace").strip()
    timed = [line for line in lines if _is_out_of_time(line)]
    return False, (timed or lines or ["ssh-keygen refused it without saying why"])[0]
