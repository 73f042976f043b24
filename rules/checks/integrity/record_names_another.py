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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import RECORD_NAMES_ANOTHER

RULE = FormRule(__name__, RECORD_NAMES_ANOTHER, Severity.ERROR, added="1.3.0")
