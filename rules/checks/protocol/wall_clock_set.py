"""A wall clock that was set during the run

## What it does
Compares how far monotonic and wall clock of a node advanced between the pairs that it noted before
and after the run (`clocks` of result.json). They may differ by half a second and a thousandth of
the time, twice what a time service does by slewing.

## Why it is bad
The wall clock was set, or the machine slept or was moved to another host meanwhile: the monotonic
clock stands still then. When the run was made is not sure any more, and neither is what the boards
did in the time that one clock lacks. It is a warning, because everything that is measured is on the
monotonic clock.

## What to do
Let a time service run on the nodes well before a run, keep virtual machines where they are, and run
again.

## Source
Bundle format, result.json, `clocks`; ntp_adjtime(2) and clock_gettime(2) of Linux: clocks are
slewed by at most 500 ppm, and CLOCK_MONOTONIC does not count time in suspend.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P121", Severity.WARNING, added="1.3.0")

MOST_S, MOST_SHARE = 0.5, 1e-3


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    before: dict[str, Json] = {}
    for place, pair in enumerate(bundle.result.get("clocks", [])):
        if pair["when"] == "before":
            before[pair["node"]] = pair
        elif first := before.get(pair["node"]):
            monotonic_s, wall_s = (
                (pair[name] - first[name]) / 1e9 for name in ("monotonic_ns", "wall_ns")
            )
            most_s = MOST_S + MOST_SHARE * abs(monotonic_s)
            if abs(wall_s - monotonic_s) > most_s:
                yield Violation(
                    RESULT,
                    f"/clocks/{place}",
                    f"{pair['node']}: {wall_s:.1f} s by the wall clock in "
                    f"{monotonic_s:.1f} s by the monotonic one",
                    f"within {most_s:.2f} s of each other",
                    "The clock was set, or the machine slept or moved. Keep both still "
                    "during a run, and run again.",
                )
