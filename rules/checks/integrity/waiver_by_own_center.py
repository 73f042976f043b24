"""A center waives a rule for itself

## What it does
Asks that a waiver for a bundle is granted by a principal of another center than the bundle's, as
I112 asks it of a reviewer: by name, by domain and by key.

## Why it is bad
The rules would not hold for whoever has the right to waive them.

## What to do
Remove the waiver, and ask somebody else who may grant one. What it names is held against the
bundle.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I123", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def waive_for_oneself(directory: Path) -> None:
    forge.waiver(directory, f"{forge.center(directory)}@wattmark")


@RULE.tampering()
def waive_from_a_domain_of_the_center(directory: Path) -> None:
    forge.waiver(directory, f"zoe@{forge.center(directory)}.example.org")


@RULE.tampering()
def waive_for_oneself_in_capitals(directory: Path) -> None:
    forge.waiver(directory, f"{forge.center(directory).upper()}@wattmark")


@RULE.tampering()
def waive_with_a_key_of_the_center_under_another_name(directory: Path) -> None:
    forge.waiver(directory, also=f"{forge.center(directory)}@wattmark")
