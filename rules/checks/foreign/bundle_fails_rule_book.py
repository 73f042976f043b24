"""A bundle of wattmark fails its own rules

## What it does
Judges a bundle by the rule book, as `bench-check --local` does. Lists the errors.

## Why it is bad
The evidence contradicts the protocol or itself.

## What to do
Run `bench-check` on the bundle. `bench-check explain ID` prints the page of each rule.

## Source
The rule book.
"""

from collections.abc import Iterator

from rules.audit.row import Row
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F119", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    for error in row.tool_errors:
        yield Violation(row.place, "", error, "no error by the rule book")
