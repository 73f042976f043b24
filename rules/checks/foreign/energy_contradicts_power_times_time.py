"""The stated energy is not mean power times time

## What it does
Compares the stated energy with the stated mean power times the stated duration. They may differ by
1 %.

## Why it is bad
Energy, power and duration are then those of different windows or scopes, such as one board and all
boards, or the unit of one of them is another.

## What to do
Ask the authors for the window and the scope of each figure. Do not use the energy until then.

## Source
Physics: energy is mean power times time.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F104", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.POWER_TIMES_TIME)
