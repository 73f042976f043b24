"""Mutations that the rule `revoked-list-unreadable` must find."""

from pathlib import Path

from rules.checks.integrity.revoked_list_unreadable import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


def revoke_keys(directory: Path, content: bytes) -> None:
    (forge.get_submissions(directory) / "keyring" / "revoked_signers").write_bytes(content)


@tampering(RULE)
def revoke_a_line_of_allowed_signers(directory: Path) -> None:
    keyring = forge.get_submissions(directory) / "keyring"
    revoke_keys(directory, (keyring / "allowed_signers").read_bytes())


@tampering(RULE)
def revoke_half_a_key(directory: Path) -> None:
    revoke_keys(directory, b"# lost in May\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n")


@tampering(RULE)
def cut_a_krl(directory: Path) -> None:
    revoke_keys(directory, b"SSHKRL\n\0\0\0\0\1")
