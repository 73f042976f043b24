"""The stated energy contradicts the samples beside it

## What it does
Integrates the power readings, or takes the difference of the energy counter, over the window of the
measurement. Compares the result with the energy that the same source states. They may differ by 1
%.

## Why it is bad
One of the two was altered, or the program that states the energy takes it from another window: a
counter read before the window adds the energy of warm-up.

## What to do
Use the energy from the samples. Ask the authors which window their figure has.

## Source
A run of AIPerf 0.13 on simulated boards with a known energy states 3.8 % too much, because its
first counter reading lies 0.33 s before the window.
"""

from collections.abc import Iterator

from rules.audit.contradictions import find_contradictions
from rules.audit.row import Row, Topic
from rules.finding import Severity, Violation
from rules.rule import AuditRule

RULE = AuditRule(__name__, "F101", Severity.ERROR, added="1.12.0")


@RULE.check
def check(row: Row) -> Iterator[Violation]:
    return find_contradictions(row, Topic.ENERGY_OF_SAMPLES)
