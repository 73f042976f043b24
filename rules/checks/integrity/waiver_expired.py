"""A waiver has expired

## What it does
Says that `expires_at` of a waiver lies in the past. It then counts for bundles alone that the LOG
says were accepted before.

## Why it is bad
It does no harm where it lies. Who counts on it should know.

## What to do
Nothing, where the bundles were accepted in time. Else mend the bundles, or ask for a new waiver.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I122", Severity.NOTE, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def let_it_expire(directory: Path) -> None:
    forge.waiver(directory, expires_at="2026-03-01T00:00:00Z")
