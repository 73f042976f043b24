"""Part of the energy is that of work that does not count

## What it does
Looks for a cancelled run, for failed requests, and for a run that its own program calls not valid.

## Why it is bad
The energy of failed or cancelled requests is in the joules, and their tokens are not among the
items. The energy per item is too high by an unknown share.

## What to do
Ask the authors for a run that completed.

## Source
An example of AIPerf's documentation: 200 requests succeeded and 84 failed.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F117", Severity.WARNING, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    if row.unfinished:
        yield Violation(row.place, "", row.unfinished, "a run whose work all counts")
