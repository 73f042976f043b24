"""Mutations that the rule `keyring-missing` must find."""

from pathlib import Path

from rules.checks.integrity.keyring_missing import RULE
from rules.testing.case import tampering


@tampering(RULE)
def remove_the_keyring(directory: Path) -> None:
    keyring = directory.parents[2] / "keyring"
    (keyring / "allowed_signers").unlink()
