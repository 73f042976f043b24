"""An energy counter that is the sum of the power readings

## What it does
Compares, under load and from sample to sample, how far the energy counter of each H200 advances
with what the power readings give: the trapezoid between two of them, and the earlier or the later
of the two times the interval. It speaks where one of these differs from the counter by less than 10
% of how much the readings vary (both as mean absolute deviations). Other boards are left alone:
none has been measured.

## Why it is bad
A derived counter passes for a second witness: the checks that compare it with the trapezoid (E103,
E104) prove nothing.

It is a note. The counter integrates power all the time, the readings are single instants of it. On
the measured boards the two differ, over 100 ms, by 62 % of how much readings vary, or more, and
still agree within 1 % over a run. A counter that was computed from the readings does not differ.
What a future board's counter does is not known.

## What to do
Leave `energy_mj` empty where the board has no counter. Hand in what the meter read.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import Series, spread
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "E120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
LEAST_SHARE = 0.1


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        share = from_power(one)
        if share < LEAST_SHARE:
            found = (
                f"{one.accelerator}: the counter follows power_mw within {share:.1%} of how "
                "much the readings vary"
            )
            message = (
                "A counter integrates what is between two readings too. Hand in what the board "
                "counted, or leave it empty."
            )
            yield Violation(
                SAMPLES,
                one.place,
                found,
                "a counter that was not computed from the readings",
                message,
            )


def from_power(one: Series) -> float:
    """How far the counter's steps are from those that the readings give, as a share of how much the
    readings vary."""
    varies = one.spread_w
    both = one.load[1:] & one.load[:-1]
    if not varies or not both.any():
        return np.inf
    counted_w = one.counted_w[both]
    if not np.isfinite(counted_w).any():
        return np.inf
    earlier, later = one.power_w[:-1][both], one.power_w[1:][both]
    return (
        min(spread(counted_w - given) for given in ((earlier + later) / 2, earlier, later)) / varies
    )
