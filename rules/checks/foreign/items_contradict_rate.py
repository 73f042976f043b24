"""Items, rate and energy per item contradict each other

## What it does
Compares items with rate times duration, and the stated energy per item with energy over items and
with power over rate, where the source states them. They may differ by 1 %.

## Why it is bad
The result per item is then wrong by the same factor. In most cases one figure is per board or per
role and the other is that of all boards, or items of another run were taken.

## What to do
Ask the authors what an item is and which boards the rate is that of. Do not use the energy per item
until then.

## Source
A synthetic fixture of InferenceX in which the stated rate contradicts the stated energy per token
by a factor of 102.4.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F105", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.RATE)
