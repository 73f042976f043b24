"""Reads the list of revoked keys as OpenSSH does: a KRL, or lines of public keys.

OpenSSH takes every key for revoked where it cannot read the list to its end, without saying so.
Here that is said.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from checker import CheckerError
from rules.bundle_format.files import Refused, read_plain, refused, shortened
from rules.bundle_format.records import REVOKED_FILE
from rules.rule_ids import REVOKED_LIST_UNREADABLE

MAX_REVOKED_BYTES = 4 * 2**20
_KRL = b"SSHKRL\n\0"
"""The bytes with which a KRL begins (PROTOCOL.krl of OpenSSH)."""
_KEY = re.compile(
    rb"[ \t]*(?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+[ \t]+[A-Za-z0-9+/]+={0,2}(?:[ \t].*)?\r?"
)
_NO_KEY = re.compile(rb"[ \t]*(?:#.*)?")


def check_revoked(path: Path) -> None:
    """Read the list of revoked keys at `path`. Raises Refused where OpenSSH cannot, and
    CheckerError without ssh-keygen."""
    raw = read_plain(path, f"keyring/{REVOKED_FILE}", MAX_REVOKED_BYTES)
    if raw.startswith(_KRL):
        code, _, said = _ssh_keygen(["-Q", "-f", str(path.absolute())])
        if code != 0:
            raise _unreadable(
                "", said or "ssh-keygen does not say why", "Make it anew with ssh-keygen -k."
            )
        return
    keys = {
        n: line for n, line in enumerate(raw.split(b"\n"), start=1) if not _NO_KEY.fullmatch(line)
    }
    for number in _of_another_form(keys):
        advice = (
            "A line has no principal and no options here, unlike one of allowed_signers. Mend "
            "it, or remove it."
        )
        raise _unreadable(
            f"line {number}", shortened(keys[number].decode(errors="replace")), advice
        )


def _of_another_form(keys: Mapping[int, bytes]) -> Iterator[int]:
    """The numbers of the lines that are no public key."""
    odd = [number for number, line in keys.items() if not _KEY.fullmatch(line)]
    yield from odd
    if not odd and keys and _keys_in(b"\n".join(keys.values())) != len(keys):
        yield from (number for number, line in keys.items() if _keys_in(line) == 0)


def _keys_in(lines: bytes) -> int:
    """How many public keys ssh-keygen reads in lines."""
    return len(_ssh_keygen(["-l", "-f", "-"], lines + b"\n")[1].splitlines())


def _ssh_keygen(options: Sequence[str], content: bytes = b"") -> tuple[int, str, str]:
    """What ssh-keygen returns, prints and complains of in the end."""
    try:
        done = subprocess.run(
            ["ssh-keygen", *options],
            input=content,
            capture_output=True,
            check=False,
            close_fds=False,
        )
    except FileNotFoundError:
        raise CheckerError("ssh-keygen was not found; install OpenSSH's client") from None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return done.returncode, done.stdout.decode(errors="replace"), said[-1] if said else ""


def _unreadable(place: str, found: str, advice: str) -> Refused:
    expected = "lines of public keys (KIND KEY), blank ones and comments; or a KRL"
    message = (
        "OpenSSH cannot read the list to its end, and until it is mended nobody is trusted. "
        f"{advice}"
    )
    return refused(
        REVOKED_LIST_UNREADABLE, f"keyring/{REVOKED_FILE}", place, found, expected, message
    )
