"""A center waives a rule for itself

## What it does
Asks that a waiver for a bundle is granted by a principal of another center than the bundle's.

## Why it is bad
The rules would not hold for whoever has the right to waive them.

## What to do
Remove the waiver, and ask somebody else who may grant one. What it names is held against the bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules import forge
from rules.rule import Rule, Severity

RULE = Rule("I123", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def waive_for_oneself(directory: Path) -> None:
    forge.waiver(directory, f"{forge.center(directory)}@wattmark")
