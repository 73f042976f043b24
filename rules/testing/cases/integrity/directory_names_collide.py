"""Mutations that the rule `directory-names-collide` must find."""

from pathlib import Path

from rules.checks.integrity.directory_names_collide import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def add_a_center_in_capital_letters(directory: Path) -> None:
    center = forge.get_center(directory)
    (forge.get_submissions(directory) / center.upper()).mkdir()


@tampering(RULE)
def add_a_system_in_wide_letters(directory: Path) -> None:
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in directory.parent.name)
    directory.parent.with_name(wide).mkdir()
