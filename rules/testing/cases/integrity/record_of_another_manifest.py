"""Mutations that the rule `record-of-another-manifest` must find."""

from pathlib import Path

from rules.checks.integrity.record_of_another_manifest import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def review_another_bundle(directory: Path) -> None:
    forge.add_review(directory, manifest_sha256="0" * 64)


@tampering(RULE)
def withdraw_another_bundle(directory: Path) -> None:
    forge.add_withdrawal(directory, manifest_sha256="0" * 64)
