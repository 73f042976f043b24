"""Mutations that the rule `record-incomplete` must find."""

from pathlib import Path

from rules.checks.integrity.record_incomplete import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def remove_the_signature_of_a_review(directory: Path) -> None:
    forge.add_review(directory).with_suffix(".sig").unlink()


@tampering(RULE)
def remove_what_was_signed(directory: Path) -> None:
    forge.add_withdrawal(directory).unlink()
