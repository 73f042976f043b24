"""A limit in force that is not the one asked for

## What it does
Compares, in every readback, the power limit that was asked of the board with the one in force.

## Why it is bad
Somebody else limits the board out of band: a baseboard controller, a rack manager, a power brake.
The submitter has no say in that limit, it may go at any time, and another who asks for the same cap
on such a board will not get the same run. It is a note, because the cap that a run is judged and
compared by is the one in force, which C101 holds to the declared one.

## What to do
Ask the administrator what limits the board. Declare the cap in force, or have the other limit
lifted and run again.

## Source
NVML API reference, `nvmlDeviceGetEnforcedPowerLimit`: the least of all limits that software and
hardware set.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C109", Severity.NOTE, added="1.2.0")

ROUNDING_MW = 1


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    seen = set()
    for place, readback in enumerate(bundle.result["readbacks"]):
        asked_mw, enforced_mw, accelerator = (
            readback["requested_mw"],
            readback["enforced_mw"],
            readback["accelerator"],
        )
        if (
            None in (asked_mw, enforced_mw)
            or abs(asked_mw - enforced_mw) <= ROUNDING_MW
            or accelerator in seen
        ):
            continue
        seen.add(accelerator)
        yield Violation(
            RESULT,
            f"/readbacks/{place}/requested_mw",
            f"{asked_mw / 1e3:g} W asked of {accelerator} and {enforced_mw / 1e3:g} W in "
            f"force ({readback['when']})",
            "one limit",
            "Something beside this limit holds the board. Find out what, since the next "
            "run may not have it.",
        )
