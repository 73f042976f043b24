"""The run states a rule book that was replaced before it ended

## What it does
Compares `rules_version` of result.json with the dates on which rule books were released. A run may
state the rule book that was in force at some time of the day on which it ended or of the day
before. The rule reports older ones.

## Why it is bad
A rule book says what the harness has to record. A run that states an old one does without the
evidence that was added since: events, clocks of the nodes, losses of the first steps, hashes of the
input, idle power. Their absence would be no finding, and claims that they would contradict pass.

## What to do
Update wattmark and run again. If a round keeps to an older rule book, the person who runs it waives
this rule (`bench-check waive`).

## Source
`RELEASED_ON` in `rules/__init__.py`.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rules import RELEASED, RELEASED_ON
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.summaries.bundle_summary import parse_date

RULE = BundleRule(__name__, "P126", Severity.ERROR, standings=("closed", "open"), added="1.10.0")

GRACE = timedelta(days=1)
"""How long after the day of a release a run may still state the rule book before it."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    version, ended_s = bundle.declaration.rules_version, parse_date(bundle.declaration.ended_at)
    # P113 reports an end that is not a date.
    if math.isnan(ended_s):
        return
    ended_on = datetime.fromtimestamp(ended_s, UTC).date()
    in_force = [book for book in RELEASED if RELEASED_ON[book] + GRACE < ended_on]
    if in_force and RELEASED.index(version) < RELEASED.index(in_force[-1]):
        yield Violation(
            RESULT,
            "/rules_version",
            f"{version}, of a run that ended on {ended_on}",
            f"{in_force[-1]} or newer",
        )
