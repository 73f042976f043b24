"""The wall clock was set during the run

## What it does
Compares the time that passed on the monotonic clock and on the wall clock of a node between the
pairs that it recorded before and after the run (`clocks` of result.json). The two may differ by
half a second plus 0.1 % of the time, which is twice the slew rate of a time service.

## Why it is bad
The wall clock was set, or the machine was suspended or migrated to another host during the run: the
monotonic clock then stops. The date of the run is uncertain, and so is the activity of the boards
in the missing time. It is a warning, because all measurements use the monotonic clock.

## What to do
Start the time service of the nodes well before a run, do not suspend or migrate virtual machines,
and run again.

## Source
Bundle format, result.json, `clocks`; ntp_adjtime(2) and clock_gettime(2) of Linux: clocks are
slewed by at most 500 ppm, and CLOCK_MONOTONIC does not count time in suspend.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.declarations.run import ClockPair
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P121", Severity.WARNING, added="1.3.0")

TOLERANCE_S = 0.5
TOLERANCE_SHARE = 1e-3
"""Twice the 500 ppm by which Linux slews a clock."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    before: dict[str, ClockPair] = {}
    for pair in bundle.clock_pairs:
        if pair.when == "before":
            before[pair.node] = pair
        # P118 reports a node without both pairs.
        elif first := before.get(pair.node):
            monotonic_s = (pair.monotonic_ns - first.monotonic_ns) / 1e9
            wall_s = (pair.wall_ns - first.wall_ns) / 1e9
            limit_s = TOLERANCE_S + TOLERANCE_SHARE * abs(monotonic_s)
            if abs(wall_s - monotonic_s) > limit_s:
                yield Violation(
                    RESULT,
                    pair.pointer,
                    f"{pair.node}: {wall_s:.1f} s on the wall clock in {monotonic_s:.1f} s on "
                    "the monotonic clock",
                    f"a difference of at most {limit_s:.2f} s",
                )
