"""Mutations that the rule `signer-revoked` must find."""

from pathlib import Path

from rules.checks.integrity.signer_revoked import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def revoke_every_key(directory: Path) -> None:
    keyring = directory.parents[2] / "keyring"
    lines = (keyring / "allowed_signers").read_text().splitlines()
    (keyring / "revoked_signers").write_text(
        "".join(f"{' '.join(line.split()[-2:])}\n" for line in lines)
    )


def revoke_principal(directory: Path, principal: str) -> None:
    keyring = directory.parents[2] / "keyring"
    (signer_line,) = (
        line
        for line in (keyring / "allowed_signers").read_text().splitlines()
        if line.startswith(principal)
    )
    (keyring / "revoked_signers").write_text(" ".join(signer_line.split()[-2:]) + "\n")


@tampering(RULE)
def review_with_a_revoked_key(directory: Path) -> None:
    forge.add_review(directory)
    revoke_principal(directory, forge.REVIEWER)


@tampering(RULE)
def withdraw_with_a_revoked_key(directory: Path) -> None:
    forge.add_withdrawal(directory)
    revoke_principal(directory, forge.CHAIR)


@tampering(RULE)
def waive_with_a_revoked_key(directory: Path) -> None:
    forge.add_waiver(directory)
    revoke_principal(directory, forge.CHAIR)


@tampering(RULE)
def revoke_the_key_after_acceptance(directory: Path) -> None:
    """A date in the LOG does not save a key that may have been in other hands."""
    forge.write_log(directory, {})
    revoke_every_key(directory)
