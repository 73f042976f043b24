"""The list of revoked keys cannot be read

## What it does
Asks that the keyring's `revoked_signers`, where there is one, is what OpenSSH reads: a key
revocation list, or lines of public keys (`KIND KEY COMMENT`, without the principal and the options
of `allowed_signers`), blank ones and comments.

## Why it is bad
OpenSSH takes every key for revoked where it cannot read the list to its end. So nobody is trusted
until it is mended.

## What to do
Mend or remove the line that is named: of a line of `allowed_signers` only the kind and the key
belong here.

## Source
ssh-keygen(1), option `-Y verify` and section KEY REVOCATION LISTS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I128", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


def _revoke(directory: Path, content: bytes) -> None:
    (forge.submissions(directory) / "keyring" / "revoked_signers").write_bytes(content)


@RULE.tampering()
def revoke_a_line_of_allowed_signers(directory: Path) -> None:
    keyring = forge.submissions(directory) / "keyring"
    _revoke(directory, (keyring / "allowed_signers").read_bytes())


@RULE.tampering()
def revoke_half_a_key(directory: Path) -> None:
    _revoke(directory, b"# lost in May\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n")


@RULE.tampering()
def cut_a_krl(directory: Path) -> None:
    _revoke(directory, b"SSHKRL\n\0\0\0\0\1")
