"""The key that signed is not valid now

## What it does
Asks that the present time lies within `valid-after` and `valid-before` of the key's line in `allowed_signers`, where
these are given.

## Why it is bad
The center said for how long it answers for the key.

## What to do
Sign the bundle again with the center's present key, or ask the keeper of the keyring to prolong the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I109", Severity.ERROR)
RULE.check(RULE.problems)


def _limit(directory: Path, validity: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(signers.read_text().replace("namespaces=", f"{validity},namespaces="))


@RULE.tampering()
def expire(directory: Path) -> None:
    _limit(directory, 'valid-before="20200101"')


@RULE.tampering()
def begin_later(directory: Path) -> None:
    _limit(directory, 'valid-after="20990101"')
