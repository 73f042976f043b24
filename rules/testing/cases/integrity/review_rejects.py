"""Mutations that the rule `review-rejects` must find."""

from pathlib import Path

from rules.checks.integrity.review_rejects import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def reject(directory: Path) -> None:
    forge.add_review(directory, verdict="reject", comment="Half of the watts are missing.")
