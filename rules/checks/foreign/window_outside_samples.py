"""The window of the measurement lies outside the samples

## What it does
Compares the window with the first and the last reading of each series. At least 95 % of the window
must lie between them.

## Why it is bad
The energy of the rest is a guess. The clocks of the two logs may differ, or the log may be that of
another run.

## What to do
Ask the authors for the whole log and for the time zone of each clock.

## Source
MLPerf logs of nodes that this project has seen cover 99.3 % to 100 % of their window.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F102", Severity.ERROR, added="1.12.0")
MIN_SHARE = 0.95


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for trace in row.traces:
        if trace.covered_share < MIN_SHARE:
            yield Violation(
                row.place,
                "",
                f"{trace.label}: the readings cover {trace.covered_share:.1%} of the window",
                f"at least {MIN_SHARE:.0%}",
            )
