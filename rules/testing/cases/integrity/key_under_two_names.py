"""Mutations that the rule `key-under-two-names` must find."""

from pathlib import Path

from rules.checks.integrity.key_under_two_names import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def register_the_key_for_another_center(directory: Path) -> None:
    signers = forge.get_signers(directory)
    key = signers.read_text().split(" ", 1)[1]
    with signers.open("a") as file:
        file.write(f"elsewhere@wattmark {key}")


@tampering(RULE)
def register_the_key_for_another_center_first(directory: Path) -> None:
    signers = forge.get_signers(directory)
    lines = signers.read_text()
    key = lines.split(" ", 1)[1]
    signers.write_text(f"elsewhere@wattmark {key}{lines}")
