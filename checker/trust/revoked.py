"""Read the list of revoked keys as OpenSSH does: a KRL, or lines of public keys.

If OpenSSH cannot read the list to its end, it treats every key as revoked and prints no reason.
This module finds the reason.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from checker import CheckerError
from rules.bundle_format.files import Refused, build_refusal, read_plain, shorten
from rules.bundle_format.records import REVOKED_FILE
from rules.rule_ids import REVOKED_LIST_UNREADABLE

MAX_REVOKED_BYTES = 4 * 2**20
_TIME_LIMIT_S = 60.0
"""How long ssh-keygen may take for the list. It needs some milliseconds."""
_KRL = b"SSHKRL\n\0"
"""The bytes with which a KRL begins (PROTOCOL.krl of OpenSSH)."""
_KEY = re.compile(
    rb"[ \t]*(?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+[ \t]+[A-Za-z0-9+/]+={0,2}(?:[ \t].*)?\r?"
)
_BLANK_OR_COMMENT = re.compile(rb"[ \t]*(?:#.*)?")


def check_revoked(path: Path) -> None:
    """Read the list of revoked keys at `path`. Raises Refused if OpenSSH cannot read it, and
    CheckerError without ssh-keygen."""
    raw = read_plain(path, f"keyring/{REVOKED_FILE}", MAX_REVOKED_BYTES)
    try:
        if raw.startswith(_KRL):
            _check_krl(raw)
        else:
            _check_lines(raw)
    except subprocess.TimeoutExpired:
        raise _unreadable(
            "",
            f"ssh-keygen gave no answer within {_TIME_LIMIT_S:g} s",
            "Judge the bundles again when the machine has less to do. If that does not help, write "
            "the list again.",
        ) from None


def _check_krl(krl: bytes) -> None:
    # ssh-keygen must see the bytes that were read. The file in the keyring may have been replaced
    # since, by one without end or by a FIFO.
    with tempfile.NamedTemporaryFile(prefix="wattmark-", suffix=".krl") as file:
        file.write(krl)
        file.flush()
        code, _, complaint = _ssh_keygen(["-Q", "-f", file.name])
    if code != 0:
        raise _unreadable(
            "",
            complaint or "ssh-keygen does not say why",
            "Write the list again with ssh-keygen -k.",
        )


def _check_lines(raw: bytes) -> None:
    lines = {
        number: line
        for number, line in enumerate(raw.split(b"\n"), start=1)
        if not _BLANK_OR_COMMENT.fullmatch(line)
    }
    for number in _find_malformed_lines(lines):
        advice = (
            "Unlike a line of allowed_signers, a line of this list has no principal and no "
            "options. Correct it or remove it."
        )
        raise _unreadable(f"line {number}", shorten(lines[number].decode(errors="replace")), advice)


def _find_malformed_lines(lines: Mapping[int, bytes]) -> Iterator[int]:
    """The numbers of the lines that are no public key."""
    malformed = [number for number, line in lines.items() if not _KEY.fullmatch(line)]
    yield from malformed
    # One process of ssh-keygen reads all lines; only if it misses a key, one reads each line.
    if not malformed and lines and _count_keys(b"\n".join(lines.values())) != len(lines):
        yield from (number for number, line in lines.items() if _count_keys(line) == 0)


def _count_keys(lines: bytes) -> int:
    """How many public keys ssh-keygen reads in lines."""
    return len(_ssh_keygen(["-l", "-f", "-"], lines + b"\n")[1].splitlines())


def _ssh_keygen(options: Sequence[str], content: bytes = b"") -> tuple[int, str, str]:
    """The exit code of ssh-keygen, its output, and the last line of its error output. Raises
    subprocess.TimeoutExpired."""
    try:
        process = subprocess.run(
            ["ssh-keygen", *options],
            input=content,
            capture_output=True,
            check=False,
            close_fds=False,
            timeout=_TIME_LIMIT_S,
        )
    except FileNotFoundError:
        raise CheckerError("ssh-keygen was not found; install OpenSSH's client") from None
    errors = process.stderr.decode(errors="replace").strip().splitlines()
    return process.returncode, process.stdout.decode(errors="replace"), errors[-1] if errors else ""


def _unreadable(place: str, found: str, advice: str) -> Refused:
    expected = "lines of public keys (KIND KEY), blank ones and comments; or a KRL"
    message = (
        "OpenSSH cannot read the list to its end. Until it can, no signature counts. " + advice
    )
    return build_refusal(
        REVOKED_LIST_UNREADABLE, f"keyring/{REVOKED_FILE}", place, found, expected, message
    )
