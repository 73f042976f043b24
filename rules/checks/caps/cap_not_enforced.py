"""The power cap was not enforced

## What it does
Compares the mean power of every accelerator over the scored epochs with the declared cap and its
tolerance (2 %).

## Why it is bad
Some boards accept a cap and ignore it. The driver then reads back the requested value, and only the
power under load shows the difference. The speed of such a run is not the speed at that cap.

## What to do
Nothing, if the board behaves so: the run stands, is shown in parentheses and never wins a
comparison at its cap. Otherwise set a cap that the board keeps.

## Source
Protocol, section "cap enforced".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C102", Severity.WARNING)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None or bundle.cap_w is None:
        return
    limit_w = bundle.cap_w * bundle.protocol.cap_tolerance
    for observed in bundle.figures.observed:
        # None means that the figures cannot tell, which is no offence.
        if observed.cap_enforced is False:
            yield Violation(
                SAMPLES,
                "",
                f"{observed.accelerator}: {observed.mean_power_w:.1f} W on average",
                f"at most {limit_w:.1f} W under a cap of {bundle.cap_w:g} W",
            )
