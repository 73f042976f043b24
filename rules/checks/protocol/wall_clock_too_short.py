"""A run that took longer than its start and end allow

## What it does
Compares the time between `started_at` and `ended_at` with the time that the samples span.

## Why it is bad
The samples were taken between start and end. Where they span more, the dates or the samples belong
to another run.

## What to do
Leave both dates as `bench-submit` writes them. If the clock of the node was set during the run, run
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

ROUNDING_S = 1.0  # the dates may be cut to whole seconds


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    dates = {}
    for name in ("started_at", "ended_at"):
        try:
            dates[name] = datetime.fromisoformat(bundle.result[name])
        except ValueError:
            text = bundle.result[name]
            yield Violation(
                RESULT,
                f"/{name}",
                text,
                "a date and time in UTC",
                "There is no such date. Give the real one.",
            )
    if len(dates) < 2:
        return
    wall_s = (dates["ended_at"] - dates["started_at"]).total_seconds()
    spans_s = [
        float(t.max() - t.min()) / 1e9
        for t in (s.ints("read_ns") for s in bundle.samples_of.values())
    ]
    if wall_s + ROUNDING_S < max(spans_s, default=0.0):
        yield Violation(
            RESULT,
            "/ended_at",
            f"{wall_s:.1f} s after started_at",
            f"at least the {max(spans_s):.1f} s that the samples span",
            "The dates and the samples are not of the same run, or the clock was set in between.",
        )
