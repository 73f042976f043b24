"""Mutations that the rule `file-missing` must find."""

from pathlib import Path

from rules.checks.form.file_missing import RULE
from rules.testing.case import tampering


@tampering(RULE)
def delete_system(directory: Path) -> None:
    (directory / "system.json").unlink()


@tampering(RULE)
def delete_manifest(directory: Path) -> None:
    (directory / "MANIFEST.json").unlink()
