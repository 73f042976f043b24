"""Mutations that the rule `accepted-bundle-missing` must find."""

from pathlib import Path

from rules.checks.integrity.accepted_bundle_missing import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def log_a_bundle_that_is_not_there(directory: Path) -> None:
    # The LOG knows a bundle in the directory that is checked, and another one in its stead is
    # there.
    path = directory.relative_to(forge.get_submissions(directory)).as_posix()
    forge.write_log(directory, {}, {"path": f"{path}/another"})
