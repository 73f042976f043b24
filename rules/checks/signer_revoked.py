"""The key that signed is revoked

## What it does
Asks that the key which made the signature is not in the keyring's `revoked_signers`.

## Why it is bad
A key is revoked when it was lost or stolen. Somebody else may have signed, at any time: an SSH signature carries no
date.

## What to do
Ask the center to sign the bundle again with its new key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS. KEY REVOCATION LISTS.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I108", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def revoke_every_key(directory: Path) -> None:
    keyring = directory.parents[2] / "keyring"
    lines = (keyring / "allowed_signers").read_text().splitlines()
    (keyring / "revoked_signers").write_text("".join(f"{' '.join(line.split()[-2:])}\n" for line in lines))
