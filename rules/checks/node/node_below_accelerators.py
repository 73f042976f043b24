"""Node power below that of the accelerators

## What it does
Compares the energy of the nodes over the scored epochs with that of their accelerators in the same
time. Below 0.95 of it is an error, below 1.02 a warning.

## Why it is bad
All power of the accelerators flows through the power supplies. The meter leaves out a feed, or one
of the two is wrong.

## What to do
List every feed of the node in system.json, and check the scale of the meter.

## Source
80 PLUS specification, Titanium: power supplies lose 4 % and more at half load. The thresholds allow
an error of 5 % of the meter. They come from no measured run.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N101", Severity.ERROR, since="1.1", added="1.6.0")
MIN_RATIO = 0.95
USUAL_RATIO = 1.02


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    figures = bundle.node_figures
    if figures is None or figures.headline.over_accelerators is None:
        return
    ratio = figures.headline.over_accelerators.mean
    if ratio < USUAL_RATIO:
        yield Violation(
            RESULT,
            "/node/over_accelerators",
            f"the nodes used {ratio:.3f} times the energy of their accelerators",
            f"at least {MIN_RATIO if ratio < MIN_RATIO else USUAL_RATIO}",
            severity=None if ratio < MIN_RATIO else Severity.WARNING,
        )
