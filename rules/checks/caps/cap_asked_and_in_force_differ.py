"""The enforced power limit differs from the requested one

## What it does
Compares, in every readback, the power limit that was requested with the limit that the board
enforces. A difference of up to 1 mW counts as rounding.

## Why it is bad
Another instance limits the board out of band: a baseboard management controller, a rack power
manager or a power brake. The submitter does not control that limit, and it may disappear at any
time. Another user who requests the same cap on such a board does not get the same run. It is a
note, because a run is judged and compared by the enforced cap, which C101 compares with the
declared one.

## What to do
Ask the administrator which limit holds the board. Declare the enforced cap, or have the other limit
removed and run again.

## Source
NVML API reference, `nvmlDeviceGetEnforcedPowerLimit`: the lowest of all limits that software and
hardware set.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C109", Severity.NOTE, added="1.2.0")

ROUNDING_MW = 1
"""Drivers round a limit to whole milliwatts."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    reported: set[str] = set()
    for readback in bundle.readbacks:
        requested_mw, enforced_mw = readback.requested_mw, readback.enforced_mw
        # A board keeps the other limit for the whole run, so one note per board is enough.
        if requested_mw is None or enforced_mw is None or readback.accelerator in reported:
            continue
        if abs(requested_mw - enforced_mw) > ROUNDING_MW:
            reported.add(readback.accelerator)
            yield Violation(
                RESULT,
                f"{readback.pointer}/requested_mw",
                f"{readback.accelerator}: {requested_mw / 1e3:g} W requested, "
                f"{enforced_mw / 1e3:g} W enforced ({readback.when})",
                "the requested limit enforced",
            )
