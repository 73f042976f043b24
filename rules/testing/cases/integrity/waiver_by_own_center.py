"""Mutations that the rule `waiver-by-own-center` must find."""

from pathlib import Path

from rules.checks.integrity.waiver_by_own_center import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def waive_for_oneself(directory: Path) -> None:
    forge.add_waiver(directory, f"{forge.get_center(directory)}@wattmark")


@tampering(RULE)
def waive_from_a_domain_of_the_center(directory: Path) -> None:
    forge.add_waiver(directory, f"zoe@{forge.get_center(directory)}.example.org")


@tampering(RULE)
def waive_for_oneself_in_capitals(directory: Path) -> None:
    forge.add_waiver(directory, f"{forge.get_center(directory).upper()}@wattmark")


@tampering(RULE)
def waive_with_a_key_of_the_center_under_another_name(directory: Path) -> None:
    forge.add_waiver(directory, other_principal=f"{forge.get_center(directory)}@wattmark")
