"""A review or withdrawal names somebody else than its file does

## What it does
Asks that the principal in a record (`reviewer`, `withdrawn_by`) is the one in the names of its two
files.

## Why it is bad
Whoever reads the record would take it for that of another.

## What to do
Remove it, and have it made anew with `bench-check review` or `bench-check withdraw`.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I115", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def review_in_the_name_of_another(directory: Path) -> None:
    forge.review(directory, reviewer="elsewhere@wattmark")


@RULE.tampering()
def withdraw_in_the_name_of_another(directory: Path) -> None:
    forge.withdrawal(directory, withdrawn_by="elsewhere@wattmark")
