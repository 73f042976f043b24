"""Mutations that the rule `waiver-not-good` must find."""

from pathlib import Path

from rules.checks.integrity.waiver_not_good import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def remove_the_signature(directory: Path) -> None:
    waiver = forge.add_waiver(directory)
    waiver.with_name(f"{waiver.name}.sig").unlink()


@tampering(RULE)
def link_to_a_signature(directory: Path) -> None:
    waiver = forge.add_waiver(directory)
    signature = waiver.with_name(f"{waiver.name}.sig")
    signature.rename(directory.parent / "elsewhere.sig")
    signature.symlink_to(directory.parent / "elsewhere.sig")


@tampering(RULE)
def waive_a_rule_that_there_is_not(directory: Path) -> None:
    forge.add_waiver(directory, rule="W999")


@tampering(RULE)
def waive_a_false_statement(directory: Path) -> None:
    forge.add_waiver(directory, rule="T102")


@tampering(RULE)
def put_something_else_there(directory: Path) -> None:
    forge.add_waiver(directory).with_name("notes.txt").write_text("to do")
