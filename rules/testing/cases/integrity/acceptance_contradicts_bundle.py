"""Mutations that the rule `acceptance-contradicts-bundle` must find."""

from pathlib import Path

from rules.checks.integrity.acceptance_contradicts_bundle import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def accept_before_the_run(directory: Path) -> None:
    forge.write_log(directory, {"at": "2025-12-01T00:00:00Z"})


@tampering(RULE)
def accept_by_an_older_rule_book(directory: Path) -> None:
    forge.write_log(directory, {"rules_version": "1.2.0"})
