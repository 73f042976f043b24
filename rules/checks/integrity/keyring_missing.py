"""There is no keyring

## What it does
Asks that a directory `keyring` with a file `allowed_signers` lies beside the centers' directories,
in the nearest directory at or above the bundle that has one; or is named with `--keyring`.

## Why it is bad
Without a keyring no key is known to be anybody's, so no signature counts.

## What to do
Check bundles where they lie in `submissions/`, or name a keyring with `--keyring`.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I110", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def remove_the_keyring(directory: Path) -> None:
    keyring = directory.parents[2] / "keyring"
    (keyring / "allowed_signers").unlink()
