"""The averaged power is the mean of the instantaneous power

## What it does
Compares the averaged power of each H200 with means over the last 5 to 20 instantaneous readings.
The rule reports a series if one of these means differs from it, under load, by less than 3 % of the
variation of single readings (both as mean absolute deviations). Other boards are skipped, because
none has been measured.

## Why it is bad
A derived column is not independent evidence for the first column.

It is a note. The board averages over many more values than are sampled, so its average differs from
the mean of ten samples: on the measured boards by 7 to 49 % of the variation of the readings. An
average that was computed from the samples does not differ. The energy is unaffected, because it
comes from the counter or from the instantaneous readings. But an author who computes this column
may have computed the others.

## What to do
Leave `power_avg_mw` empty if the board has no average. Submit the values that the meter read.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.series import Series, mean_absolute_deviation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W122", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

LEAST_SHARE = 0.03
"""Lowest plausible deviation of the average, as a share of the variation of the readings; measured
boards have 0.07 or more (docs/forensics.md)."""
LENGTHS = (5, 9, 10, 11, 20)
"""Numbers of readings over which the means are computed; ten readings are the second over which the
board averages."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        share, length = find_nearest_mean(series)
        if share < LEAST_SHARE:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: power_avg_mw is the mean of the last {length} readings of "
                f"power_mw, within {share:.1%} of their variation",
                "an average that the board computed",
            )


def find_nearest_mean(series: Series) -> tuple[float, int]:
    """The smallest deviation of the average from a mean of readings, as a share of the variation of
    the readings, and the length of that mean; infinite if there is nothing to compare."""
    variation_w = series.spread_w
    if (
        not variation_w
        or not np.isfinite(series.average_w[series.load]).all()
        # A missing reading would make every cumulated sum after it NaN.
        or not np.isfinite(series.power_w).all()
    ):
        return np.inf, 0
    # Differences of cumulated sums give all moving means of a length in one pass.
    sums_w = np.concatenate(([0.0], np.cumsum(series.power_w)))
    deviations = []
    for length in LENGTHS:
        means_w = (sums_w[length:] - sums_w[:-length]) / length
        # At the edges of an epoch, the mean covers idle readings, and the variation is not that
        # under load.
        loaded = series.load[length - 1 :] & series.load[: len(series.load) - length + 1]
        difference_w = series.average_w[length - 1 :] - means_w
        deviations.append((mean_absolute_deviation(difference_w[loaded]) / variation_w, length))
    return min(deviations)
