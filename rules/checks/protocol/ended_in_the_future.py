"""The end of the run lies in the future

## What it does
Compares `ended_at` with the clock of the machine that checks, with a tolerance of one day.

## Why it is bad
Dates are evidence: reviews, expired keys, acceptance and overlapping runs are judged by them. A run
cannot be submitted before it was made.

## What to do
Synchronise the clock of the node (NTP) and run again. If the clock of the checking machine is
wrong, correct it.

## Source
Bundle format, result.json, `ended_at`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P123", Severity.ERROR, added="1.3.0", depends_on_date=True)

TOLERANCE = timedelta(days=1)
"""Clocks of different machines may differ."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    now = datetime.now(UTC)
    try:
        ended_at = datetime.fromisoformat(bundle.declaration.ended_at)
    except ValueError:
        return  # P113 reports it
    if ended_at > now + TOLERANCE:
        yield Violation(
            RESULT,
            "/ended_at",
            bundle.declaration.ended_at,
            f"not after the present time, {now:%Y-%m-%dT%H:%M:%SZ}",
        )
