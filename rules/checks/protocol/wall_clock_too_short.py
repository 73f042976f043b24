"""The samples span more time than the run

## What it does
Compares the time between `started_at` and `ended_at` with the time that the samples span. It may be
one second shorter, because the dates may be rounded to seconds. The rule also reports a date that
does not exist.

## Why it is bad
The samples were taken between start and end. If they span more time, the dates or the samples
belong to another run.

## What to do
Submit both dates as `bench-submit` wrote them. If the clock of the node was set during the run, run
again.

## Source
Bundle format, result.json.
"""

from collections.abc import Iterator
from datetime import datetime

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P113", Severity.ERROR)

ROUNDING_S = 1.0
"""The dates may be cut to whole seconds."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    dates = {}
    run = bundle.declaration
    for name, text in (("started_at", run.started_at), ("ended_at", run.ended_at)):
        try:
            dates[name] = datetime.fromisoformat(text)
        except ValueError:
            yield Violation(RESULT, f"/{name}", text, "an existing date and time in UTC")
    if len(dates) < 2:
        return
    wall_s = (dates["ended_at"] - dates["started_at"]).total_seconds()
    # Each accelerator by itself, because the monotonic clocks of nodes are unrelated.
    times_ns = [samples.ints("read_ns") for samples in bundle.samples_of.values()]
    samples_s = max((float(ns.max() - ns.min()) / 1e9 for ns in times_ns), default=0.0)
    if wall_s + ROUNDING_S < samples_s:
        yield Violation(
            RESULT,
            "/ended_at",
            f"{wall_s:.1f} s after started_at",
            f"at least {samples_s:.1f} s, the time that the samples span",
        )
