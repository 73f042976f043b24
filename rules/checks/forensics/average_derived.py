"""An averaged power that is the mean of the instantaneous one

## What it does
Compares the averaged power of each H200 with means over the last 5 to 20 instantaneous readings. It
speaks where one of these means differs from it, under load, by less than 3 % of how much single
readings vary (both as mean absolute deviations). Other boards are left alone: none has been
measured.

## Why it is bad
A derived column passes for a second witness of the first.

It is a note. The board averages over many more readings than are sampled, so its average differs
from the mean of ten of them as a mean differs from that of a small sample: on the measured boards
by 7 to 49 % of how much readings vary. An average computed from the samples does not differ at all.
No harm is done to energy, which comes from the counter or from the instantaneous readings; but who
computes this column may have made the others.

## What to do
Leave `power_avg_mw` empty where the board has no average. Hand in what the meter read.

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
    __name__, "W122", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
LEAST_SHARE = 0.03
LENGTHS = (5, 9, 10, 11, 20)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        share, length = nearest(one)
        if share < LEAST_SHARE:
            found = (
                f"{one.accelerator}: the mean of the last {length} readings of power_mw, "
                f"within {share:.1%} of their spread"
            )
            message = (
                "A board averages over more than is sampled. Hand in what it said, or leave "
                "the column empty."
            )
            yield Violation(SAMPLES, one.place, found, "an average of the board's own", message)


def nearest(one: Series) -> tuple[float, int]:
    """How far the average is from the nearest mean of samples, as a share of how much these vary,
    and that mean's length."""
    varies = one.spread_w
    if (
        not varies
        or not np.isfinite(one.average_w[one.load]).all()
        or not np.isfinite(one.power_w).all()
    ):
        return np.inf, 0
    sums = np.concatenate(([0.0], np.cumsum(one.power_w)))
    found = []
    for length in LENGTHS:
        inner = one.load[length - 1 :] & one.load[: len(one.load) - length + 1]
        apart = one.average_w[length - 1 :] - (sums[length:] - sums[:-length]) / length
        found.append((spread(apart[inner]) / varies, length))
    return min(found)
