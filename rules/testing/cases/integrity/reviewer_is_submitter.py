"""Mutations that the rule `reviewer-is-submitter` must find."""

from pathlib import Path

from rules.checks.integrity.reviewer_is_submitter import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def review_by_the_center(directory: Path) -> None:
    forge.add_review(directory, f"{forge.get_center(directory)}@reviews.example.org")


@tampering(RULE)
def review_by_the_center_in_capitals(directory: Path) -> None:
    forge.add_review(directory, f"{forge.get_center(directory).upper()}@reviews.example.org")


@tampering(RULE)
def review_from_a_domain_of_the_center(directory: Path) -> None:
    forge.add_review(directory, f"zoe@{forge.get_center(directory)}.example.org")


@tampering(RULE)
def review_with_a_key_of_the_center(directory: Path) -> None:
    forge.add_review(directory, other_principal=f"{forge.get_center(directory)}@wattmark")
