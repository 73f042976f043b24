"""Mutations that the rule `record-names-another` must find."""

from pathlib import Path

from rules.checks.integrity.record_names_another import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def review_in_the_name_of_another(directory: Path) -> None:
    forge.add_review(directory, reviewer="elsewhere@wattmark")


@tampering(RULE)
def withdraw_in_the_name_of_another(directory: Path) -> None:
    forge.add_withdrawal(directory, withdrawn_by="elsewhere@wattmark")
