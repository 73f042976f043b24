"""Node readings that repeat

## What it does
Counts the readings of each feed that repeat the one before: its number, its stamp, or its power to
the last digit together with the energy counter. More than 25 % is a warning, more than 60 % an
error.

## Why it is bad
The meter measures less often than it is read. Its readings are older than they seem.

## What to do
Read the meter as often as it measures, and state that interval in system.json.

## Source
Real management controllers repeat 1 %, 3 % and 20 % of their readings at 1 Hz (three servers).
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.finding import Severity, Violation
from rules.metrics.node.traces import count_repeats
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N104", Severity.ERROR, since="1.1", added="1.6.0")
USUAL_SHARE = 0.25
MAX_SHARE = 0.6


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for trace in bundle.feed_traces:
        share = count_repeats(trace.readings) / len(trace.readings)
        if share > USUAL_SHARE:
            limit = MAX_SHARE if share > MAX_SHARE else USUAL_SHARE
            yield Violation(
                NODE_SAMPLES_FILE,
                "",
                f"{trace.label}: {share:.0%} of the readings repeat the one before",
                f"at most {limit:.0%}",
                severity=None if share > MAX_SHARE else Severity.WARNING,
            )
