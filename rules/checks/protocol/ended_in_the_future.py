"""A run that has not ended yet

## What it does
Compares `ended_at` with the clock of the machine that checks. It may be a day ahead.

## Why it is bad
A date is evidence: reviews, expired keys, acceptance and runs that overlap are judged by it. A run
cannot be handed in before it was made.

## What to do
Set the node's clock (NTP) and run again. If the checking machine's clock is wrong, set that.

## Source
Bundle format, result.json, `ended_at`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P123", Severity.ERROR, added="1.3.0")

AHEAD = timedelta(days=1)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    now = datetime.now(UTC)
    try:
        ended = datetime.fromisoformat(bundle.result["ended_at"])
    except ValueError:
        return  # P113 says it
    if ended > now + AHEAD:
        message = "No run is handed in before it was made. Set the node's clock and run again."
        yield Violation(
            RESULT,
            "/ended_at",
            bundle.result["ended_at"],
            f"not after {now:%Y-%m-%dT%H:%M:%SZ}, which is now",
            message,
        )
