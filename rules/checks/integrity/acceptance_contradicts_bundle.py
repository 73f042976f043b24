"""The LOG and the bundle contradict each other

## What it does
Asks that the run had ended when the bundle was accepted, to within a day, since clocks differ; and
that the rule book which accepted it is not older than the one that the bundle says it was made
with.

## Why it is bad
An earlier date would lift the expiry of keys and waivers, and an older rule book would turn errors
into notes. Where they contradict each other, the acceptance does not count for this bundle.

## What to do
Restore the LOG from the repository's history. Where the clock of the node was wrong, withdraw the
bundle and make the run anew.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I126", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def accept_before_the_run(directory: Path) -> None:
    forge.log(directory, {"at": "2025-12-01T00:00:00Z"})


@RULE.tampering()
def accept_by_an_older_rule_book(directory: Path) -> None:
    forge.log(directory, {"rules_version": "1.2.0"})
