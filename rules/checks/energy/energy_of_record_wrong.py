"""The wrong energy taken for the record

## What it does
Decides by the counter's self-test whether the counter or the trapezoid is the energy of record, and
compares that with result.json.

## Why it is bad
Whoever may choose between the two takes the lower one.

## What to do
Leave the choice to the protocol: the counter where it passes its self-test, else the trapezoid.

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
    if bundle.figures is None:
        return
    stated, right = bundle.result["energy_of_record"], bundle.figures.energy_of_record
    if stated != right:
        yield Violation(
            RESULT,
            "/energy_of_record",
            stated,
            f"{right}: the counter {'passes' if right == 'counter' else 'does not pass'} "
            "its self-test",
            "Which energy counts is decided by the self-test, not chosen.",
        )
