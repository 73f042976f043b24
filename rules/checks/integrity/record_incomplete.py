"""A review or withdrawal lacks one of its two files

## What it does
Asks that each review and each withdrawal in `signatures/` is two files: what is said,
`review.WHO.json`, and the signature over it, `review.WHO.sig`; `withdrawal.WHO…` likewise.

## Why it is bad
What nobody signed says nothing, and a signature without what it signs neither.

## What to do
Restore the missing file, or remove the other one. A withdrawal or review that was cut shows as
this.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from pathlib import Path

from rules.rule import Rule, Severity
from rules.testing import tampering as forge

RULE = Rule("I114", Severity.ERROR, added="1.3.0")
RULE.check(RULE.problems)


@RULE.tampering()
def remove_the_signature_of_a_review(directory: Path) -> None:
    forge.review(directory).with_suffix(".sig").unlink()


@RULE.tampering()
def remove_what_was_signed(directory: Path) -> None:
    forge.withdrawal(directory).unlink()
