"""The key that signed is revoked

## What it does
Asks that no signature of a submitter, reviewer, withdrawer or waiver is by a key in the keyring's
`revoked_signers`, also where the bundle was accepted before the key was revoked.

## Why it is bad
A key is revoked when it was lost or stolen. Somebody else may have signed, at any time: an SSH
signature carries no date.

## What to do
Ask the center to sign the bundle again with its new key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS. KEY REVOCATION LISTS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I108", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def revoke_every_key(directory: Path) -> None:
    keyring = directory.parents[2] / "keyring"
    lines = (keyring / "allowed_signers").read_text().splitlines()
    (keyring / "revoked_signers").write_text(
        "".join(f"{' '.join(line.split()[-2:])}\n" for line in lines)
    )


def _revoke(directory: Path, principal: str) -> None:
    keyring = directory.parents[2] / "keyring"
    (own,) = (
        line
        for line in (keyring / "allowed_signers").read_text().splitlines()
        if line.startswith(principal)
    )
    (keyring / "revoked_signers").write_text(" ".join(own.split()[-2:]) + "\n")


@RULE.tampering()
def review_with_a_revoked_key(directory: Path) -> None:
    forge.review(directory)
    _revoke(directory, forge.REVIEWER)


@RULE.tampering()
def withdraw_with_a_revoked_key(directory: Path) -> None:
    forge.withdrawal(directory)
    _revoke(directory, forge.CHAIR)


@RULE.tampering()
def waive_with_a_revoked_key(directory: Path) -> None:
    forge.waiver(directory)
    _revoke(directory, forge.CHAIR)


@RULE.tampering()
def revoke_the_key_after_acceptance(directory: Path) -> None:
    """A date in the LOG does not save a key that may have been in other hands."""
    forge.log(directory, {})
    revoke_every_key(directory)
