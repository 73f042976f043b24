"""Another center withdraws the bundle

## What it does
Asks that whoever withdraws a bundle is of its own center, or may not submit at all: a principal to
whom the keyring gives the namespace `withdrawal@wattmark` and not `submission@wattmark`, such as
the chair of a round.

## Why it is bad
A center could take the results of another out of the comparison.

## What to do
Remove the withdrawal. Ask the center or the chair to withdraw the bundle, if it is wrong.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I116", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def withdraw_as_another_center(directory: Path) -> None:
    forge.withdrawal(directory, "elsewhere@wattmark", "submission@wattmark,withdrawal@wattmark")
