"""Mutations that the rule `directory-name-unsafe` must find."""

import os
from pathlib import Path

from rules.checks.form.directory_name_unsafe import RULE
from rules.testing.case import tampering


def rename_system(directory: Path, name: str) -> None:
    """Rename the directory of the system. A link keeps the old path of the bundle valid."""
    renamed = directory.parent.with_name(name)
    directory.parent.rename(renamed)
    directory.parent.symlink_to(renamed)


@tampering(RULE)
def use_bytes_that_are_not_utf_8(directory: Path) -> None:
    rename_system(directory, os.fsdecode(b"h200\xff"))


@tampering(RULE)
def use_a_backslash(directory: Path) -> None:
    rename_system(directory, "h200\\x2")


@tampering(RULE)
def use_a_newline(directory: Path) -> None:
    rename_system(directory, "h200\nx2")


@tampering(RULE)
def use_more_than_1_000_characters(directory: Path) -> None:
    deep = directory.parent.with_name("moved").joinpath(*["a" * 200] * 5)
    deep.parent.mkdir(parents=True)
    directory.parent.rename(deep)
    directory.parent.symlink_to(deep)
