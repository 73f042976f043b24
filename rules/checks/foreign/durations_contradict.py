"""Stated durations contradict each other

## What it does
Compares the stated duration with the difference of the stated start and end, and with energy over
power where the source states all of them. They may differ by 1 %.

## Why it is bad
A power that was averaged over one of the durations and multiplied by another one is no energy.

## What to do
Ask the authors for the start and the end of the window in which power was measured.

## Source
InferenceX, AIPerf and MLPerf Tiny state a duration in two ways, which agree within 0.1 % in the
samples that this project has seen.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F115", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.DURATION)
