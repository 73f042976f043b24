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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import RECORD_INCOMPLETE

RULE = FormRule(__name__, RECORD_INCOMPLETE, Severity.ERROR, added="1.3.0")
