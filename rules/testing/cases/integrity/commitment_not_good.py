"""Mutations that the rule `commitment-not-good` must find."""

from pathlib import Path

from rules.checks.integrity.commitment_not_good import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def commit_to_another_hash_than_the_name_says(directory: Path) -> None:
    forge.add_commitment(directory, manifest_sha256="0" * 64)


@tampering(RULE)
def commit_without_a_signature(directory: Path) -> None:
    commitment = forge.add_commitment(directory)
    commitment.with_name(f"{commitment.name}.sig").unlink()
