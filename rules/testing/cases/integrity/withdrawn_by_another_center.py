"""Mutations that the rule `withdrawn-by-another-center` must find."""

from pathlib import Path

from rules.checks.integrity.withdrawn_by_another_center import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def withdraw_as_another_center(directory: Path) -> None:
    forge.add_withdrawal(directory, "elsewhere@wattmark", "submission@wattmark,withdrawal@wattmark")
