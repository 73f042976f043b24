"""A review or withdrawal names another principal than its file name

## What it does
Compares the principal in a record (`reviewer`, `withdrawn_by`) with the principal in the names of
its two files.

## Why it is bad
A reader would attribute the record to the wrong principal.

## What to do
Remove the record, and have it created again with `bench-check review` or `bench-check withdraw`.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import RECORD_NAMES_ANOTHER

RULE = FormRule(__name__, RECORD_NAMES_ANOTHER, Severity.ERROR, added="1.3.0")
