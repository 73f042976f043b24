"""A withdrawal was taken back

## What it does
Asks that a bundle of which the LOG says that it was withdrawn has a good withdrawal in
`signatures/`.

## Why it is bad
What was withdrawn would be compared again, and nobody would know.

## What to do
Restore the two files of the withdrawal from the repository's history. A withdrawal is for good:
make the run anew.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I120", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def remove_the_withdrawal(directory: Path) -> None:
    forge.log(directory, {}, {"event": "withdrawn"})
