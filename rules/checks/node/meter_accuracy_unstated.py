"""Accuracy of a node meter unstated or poor

## What it does
Looks for meters of record without `accuracy_percent`, and for an accuracy of their sum above 5 %.
It is an error in closed bundles and a warning in others. Errors of n meters of at most 3 % each
shrink with the square root of n.

## Why it is bad
Nobody knows how far the figures of the node can be trusted.

## What to do
State the accuracy from the data sheet of the meter, and where it says so.

## Source
EE HPC WG, Power Measurement Methodology 2.0: 5 % at level 1, 2 % at level 2, 1 % at level 3.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.metrics.node.level import MAX_ACCURACY_PERCENT, combine_accuracy
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N109", Severity.ERROR, since="1.1", added="1.6.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    severity = None if bundle.standing == "closed" else Severity.WARNING
    meters = bundle.system_declaration.meters_of_record
    for meter in meters:
        if meter.accuracy_percent is None:
            yield Violation(
                SYSTEM,
                f"{meter.pointer}/accuracy_percent",
                f"meter {meter.id}: none",
                "the accuracy of its readings, in %",
                severity=severity,
            )
    accuracy_percent = combine_accuracy(meters)
    if accuracy_percent is not None and accuracy_percent > MAX_ACCURACY_PERCENT[1]:
        yield Violation(
            SYSTEM,
            "/meters",
            f"{accuracy_percent:g} %",
            f"at most {MAX_ACCURACY_PERCENT[1]:g} %",
            severity=severity,
        )
