"""The parts do not add up to the total

## What it does
Adds the parts that a source states, such as channels of an analyzer, devices, phases or prefill and
decode. Compares the sum with the total that it states. They may differ by 1 %, or by the rounding
of the source.

## Why it is bad
A part was altered or left out, or the total is that of something else.

## What to do
Ask the authors for the missing part. Use the parts with their names, not the total.

## Source
Physics: energies and powers of parts add.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F108", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.PARTS)
