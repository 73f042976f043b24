"""Mutations that the rule `file-unlisted` must find."""

from pathlib import Path

from rules.checks.integrity.file_unlisted import RULE
from rules.testing.case import tampering


@tampering(RULE)
def add_a_file(directory: Path) -> None:
    (directory / "samples-corrected.csv").write_text("scheduled_ns\n")


@tampering(RULE)
def add_a_directory(directory: Path) -> None:
    (directory / "old").mkdir()


@tampering(RULE)
def add_to_the_signatures(directory: Path) -> None:
    (directory / "signatures" / "README").write_text("all good\n")
