"""The marks of the measurement contain no reading

## What it does
Compares the marks of start and end of the power measurement with the readings of the same log. The
row has the energy over the window of the run.

## Why it is bad
Every formula over these marks divides by zero or finds nothing. Who published the energy did not
use this log as it is.

## What to do
Use the window of the run. Ask the authors which window their figure has.

## Source
In a result of MLPerf Training 4.0, both marks have the same time, before the first reading.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F113", Severity.WARNING, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for marks in row.unmatched_marks:
        yield Violation(row.place, "", marks, "marks around the readings")
