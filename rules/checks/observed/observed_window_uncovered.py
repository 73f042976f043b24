"""The power log does not cover the window of the job

## What it does
Compares the readings of each feed with the declared window. At most 1 % of the window may be
without readings: before the first, after the last, and in gaps of more than five usual steps.

## Why it is bad
Energy without readings is a guess. A window outside the log belongs to another job or clock.

## What to do
Give the log of the whole job, and check its time zone. A shorter window needs its own number of
items.

## Source
None: a convention of this rule book. N120 counts what the readings of a run lack.
"""

from collections.abc import Iterator

from rules.bundle_format.observation_records import POWER_FILE
from rules.finding import Severity, Violation
from rules.observations.bundle import ObservationBundle
from rules.rule import ObservationRule

RULE = ObservationRule(__name__, "O101", Severity.ERROR, added="1.13.0")

MAX_MISSING_SHARE = 0.01


@RULE.check
def check(bundle: ObservationBundle) -> Iterator[Violation]:
    start_ns, end_ns = bundle.window_ns
    window_s = (end_ns - start_ns) / 1e9
    for name, feed in bundle.feeds.items():
        gap_s = feed.measure_gap_s(start_ns, end_ns) if len(feed.times_ns) > 1 else window_s
        if gap_s > MAX_MISSING_SHARE * window_s:
            yield Violation(
                POWER_FILE,
                "",
                f"feed {name} has no readings in {gap_s:.1f} s of the window",
                f"at most {MAX_MISSING_SHARE * window_s:.1f} s of {window_s:.1f} s without them",
            )
