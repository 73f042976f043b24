"""The stated energy of record is wrong

## What it does
Determines by the self-test of the counter whether the counter or the trapezoid is the energy of
record, and compares it with result.json.

## Why it is bad
A submitter who may choose between the two chooses the lower one.

## What to do
Use the energy that the protocol prescribes: the counter if it passes its self-test, otherwise the
trapezoid.

## Source
Protocol, section "energy of record".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E105", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # T101 reports figures that cannot be computed.
    if bundle.figures is None:
        return
    stated, expected = bundle.declaration.energy_of_record, bundle.figures.energy_of_record
    if stated != expected:
        verdict = "passes" if expected == "counter" else "does not pass"
        yield Violation(
            RESULT,
            "/energy_of_record",
            stated,
            f"{expected}: the counter {verdict} its self-test",
        )
