"""A power cap that was not enforced

## What it does
Compares the mean power of every accelerator over the scored epochs with the declared cap and its
tolerance.

## Why it is bad
Some boards accept a cap and ignore it; the driver reads back what was asked for, and only load
shows the difference. Such a run says how fast the board is, but not at that cap.

## What to do
Nothing, if that is how the board behaves: the run stands, is shown in parentheses and never wins a
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
    if bundle.figures is None:
        return
    cap_w = bundle.result["power"]["cap_w"]
    for observed in bundle.figures.observed:
        if observed.cap_enforced is False:
            yield Violation(
                SAMPLES,
                "",
                f"{observed.accelerator}: {observed.mean_power_w:.1f} W on average",
                f"at most {cap_w * bundle.protocol.cap_tolerance:.1f} W under a cap of {cap_w:g} W",
                "The board did not keep the cap. The run stands, but is shown as not enforced.",
            )
