"""Mutations that the rule `waiver-expired` must find."""

from pathlib import Path

from rules.checks.integrity.waiver_expired import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def let_it_expire(directory: Path) -> None:
    forge.add_waiver(directory, expires_at="2026-03-01T00:00:00Z")
