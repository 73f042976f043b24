"""Mutations that the rule `signature-missing` must find."""

from pathlib import Path

from rules.checks.integrity.signature_missing import RULE
from rules.testing.case import tampering


@tampering(RULE)
def remove_the_signature(directory: Path) -> None:
    for signature in (directory / "signatures").iterdir():
        signature.unlink()


@tampering(RULE, "I114")
def sign_as_reviewer_only(directory: Path) -> None:
    (signature,) = (directory / "signatures").glob("submission.*")
    signature.rename(signature.with_name(signature.name.replace("submission.", "review.", 1)))
