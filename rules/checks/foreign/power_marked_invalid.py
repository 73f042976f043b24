"""The source calls its own power not valid

## What it does
Reads the marks of validity that the source has, and their reasons. The row has no energy then.

## Why it is bad
The program that measured found a reason not to publish the power. A table that shows 0 J or the
rejected figure hides that.

## What to do
Leave the energy out. Ask the authors for a valid run.

## Source
Aggregates of InferenceX have `power_valid` and `power_invalid_reasons`.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F118", Severity.WARNING, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    if row.invalid_reasons:
        yield Violation(row.place, "", ", ".join(row.invalid_reasons), "a valid measurement")
