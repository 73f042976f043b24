"""The key that signed is not valid now

## What it does
Asks that the present time lies within `valid-after` and `valid-before` of the key's line in
`allowed_signers`, where these are given; both are read as UTC. Of a bundle that is in
`submissions/LOG` the time of its acceptance counts as well.

## Why it is bad
The center said for how long it answers for the key.

## What to do
Sign the bundle again with the center's present key, or ask the keeper of the keyring to prolong the
key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

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


def _expire(directory: Path, namespace: str) -> None:
    signers = directory.parents[2] / "keyring" / "allowed_signers"
    signers.write_text(
        signers.read_text().replace(f'"{namespace}"', f'"{namespace}",valid-before="20200101"')
    )


@RULE.tampering()
def review_with_a_key_that_has_expired(directory: Path) -> None:
    forge.review(directory)
    _expire(directory, "review@wattmark")


@RULE.tampering()
def waive_with_a_key_that_has_expired(directory: Path) -> None:
    forge.waiver(directory)
    _expire(directory, "waiver@wattmark")
