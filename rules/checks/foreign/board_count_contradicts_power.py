"""The number of boards contradicts the two powers

## What it does
Divides the stated power of all boards by the stated power per board. The result must be a whole
number within 1 %, and the number of boards if the source states one.

## Why it is bad
Energy per item is then wrong by the ratio of the two numbers. Parallel sizes multiply to more
boards than a node has, and some tables count the same boards twice.

## What to do
Ask the authors for the number of boards whose power was read.

## Source
InferenceX states power per board and in total. Its columns of boards by role hold products of
parallel sizes, which are up to eight times as many.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F116", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.COUNT)
