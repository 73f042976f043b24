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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WITHDRAWAL_REMOVED

RULE = FormRule(__name__, WITHDRAWAL_REMOVED, Severity.ERROR, added="1.3.0")
