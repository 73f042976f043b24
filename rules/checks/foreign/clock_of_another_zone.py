"""The clock of a series is off by a time zone

## What it does
Compares the series with the window. Where they do not meet, it looks for the one shift of whole
quarters of an hour that lays the series over the window. The row then has the energy of the shifted
series.

## Why it is bad
The two logs were written in different time zones. That the shift is right is an assumption.

## What to do
Ask the authors for the time zone of each clock.

## Source
The log of a switch in an MLPerf result (Training 4.1) is five hours off from those of its nodes.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F112", Severity.WARNING, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for trace in row.traces:
        if trace.shift_s:
            yield Violation(
                row.place,
                "",
                f"{trace.label}: its clock was shifted by {trace.shift_s:+g} s",
                "one clock for window and readings",
            )
