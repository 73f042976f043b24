"""Mutations that the rule `accepted-bundle-replaced` must find."""

from pathlib import Path

from rules.checks.integrity.accepted_bundle_replaced import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def replace_what_was_accepted(directory: Path) -> None:
    forge.write_log(directory, {"manifest_sha256": "0" * 64})
