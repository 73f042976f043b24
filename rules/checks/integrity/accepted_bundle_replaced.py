"""An accepted bundle was replaced by another

## What it does
Asks that a bundle in a directory that the LOG knows has the manifest that was accepted there.

## Why it is bad
Whoever has the center's key can sign other files in the same place. All hashes and the signature
then hold; only the LOG remembers.

## What to do
Restore the bundle that was accepted. Withdraw it if it is wrong, and submit the new run in a
directory of its own.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I119", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def replace_what_was_accepted(directory: Path) -> None:
    forge.log(directory, {"manifest_sha256": "0" * 64})
