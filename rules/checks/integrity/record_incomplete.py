"""One of the two files of a review or withdrawal is missing

## What it does
Checks that each review and each withdrawal in `signatures/` consists of two files: the record
`review.PRINCIPAL.json` and its signature `review.PRINCIPAL.sig`. The same holds for
`withdrawal.PRINCIPAL.json` and `withdrawal.PRINCIPAL.sig`.

## Why it is bad
A record without a signature has no author. A signature without its record has no content.

## What to do
Restore the missing file, or remove the other one. A truncated review or withdrawal also gives this
finding.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import RECORD_INCOMPLETE

RULE = FormRule(__name__, RECORD_INCOMPLETE, Severity.ERROR, added="1.3.0")
