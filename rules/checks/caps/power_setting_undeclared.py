"""A cap or power state that is not declared, or not the protocol's

## What it does
Asks that a closed or open bundle declares its power cap, and one of the power states that the
protocol names.

## Why it is bad
Without a cap a run has no place in a sweep, and whether the cap was kept cannot be judged. In a
lower power state a board has other clocks.

## What to do
Use the meter of the board: `bench-submit` declares the cap in force, or the one that `--cap` sets,
and the state that the protocol names.

## Source
Protocol, sections "caps" and "power state".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C105", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    power = bundle.result["power"]
    if power["cap_w"] is None:
        meaning = "Declare the cap in force, also where it was only found and not set."
        yield Violation(RESULT, "/power/cap_w", "null", "a cap in W", meaning)
    if power["state"] not in bundle.protocol.states:
        allowed = " or ".join(bundle.protocol.states)
        meaning = "Runs are compared in one power state. Measure in that one."
        yield Violation(RESULT, "/power/state", power["state"] or "null", allowed, meaning)
