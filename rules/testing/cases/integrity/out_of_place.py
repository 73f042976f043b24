"""Mutations that the rule `out-of-place` must find."""

from pathlib import Path

from rules.bundle_format.records import KEYRING_DIR, SIGNERS_FILE
from rules.checks.integrity.out_of_place import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


def write_keyring(beside: Path) -> None:
    (beside / KEYRING_DIR).mkdir()
    (beside / KEYRING_DIR / SIGNERS_FILE).write_text("")


@tampering(RULE)
def bring_a_keyring_for_the_center(directory: Path) -> None:
    write_keyring(forge.get_submissions(directory) / forge.get_center(directory))


@tampering(RULE)
def bring_a_keyring_for_the_system(directory: Path) -> None:
    write_keyring(directory.parent)
