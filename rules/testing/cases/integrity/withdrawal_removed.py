"""Mutations that the rule `withdrawal-removed` must find."""

from pathlib import Path

from rules.checks.integrity.withdrawal_removed import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def remove_the_withdrawal(directory: Path) -> None:
    forge.write_log(directory, {}, {"event": "withdrawn"})
