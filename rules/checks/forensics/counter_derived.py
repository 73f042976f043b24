"""The energy counter equals the sum of the power readings

## What it does
Compares, for each H200 under load, the increase of the energy counter between two samples with the
energy that the power readings give for the same interval: the trapezoid between the two readings,
and the earlier or the later reading times the interval. All are converted to W. The rule reports a
counter if one of these estimates differs from it by less than 10 % of the variation of the readings
(both as mean absolute deviations). Other boards are skipped, because none has been measured.

## Why it is bad
A derived counter is not independent evidence. The rules that compare the counter with the trapezoid
(E103, E104) then prove nothing.

It is a note. The counter and a reading do not cover the same time (docs/forensics.md). On the
measured boards the two differ, over 100 ms, by 62 % of the variation of the readings or more, and
still agree within 1 % over a run. A counter that was computed from the readings does not differ.
The counters of future boards are not known.

## What to do
Leave `energy_mj` empty if the board has no counter. Submit the values that the meter read.

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
    __name__, "E120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

LEAST_SHARE = 0.1
"""Lowest plausible deviation of the counter, as a share of the variation of the readings; measured
boards have 0.62 or more (docs/forensics.md)."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        share = compute_deviation_share(series)
        if share < LEAST_SHARE:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: the counter follows power_mw within {share:.1%} of the "
                "variation of the readings",
                "a counter that was not computed from the readings",
            )


def compute_deviation_share(series: Series) -> float:
    """How far the increases of the counter differ from those that the readings give, as a share of
    the variation of the readings; infinite if there is nothing to compare."""
    variation_w = series.spread_w
    # An interval counts if both of its ends are under load.
    both_loaded = series.load[1:] & series.load[:-1]
    if not variation_w or not both_loaded.any():
        return np.inf
    counted_w = series.counted_w[both_loaded]
    if not np.isfinite(counted_w).any():
        return np.inf
    earlier_w, later_w = series.power_w[:-1][both_loaded], series.power_w[1:][both_loaded]
    # A forger may have summed the readings by any of the three usual methods.
    estimates_w = (earlier_w + later_w) / 2, earlier_w, later_w
    return (
        min(mean_absolute_deviation(counted_w - estimate_w) for estimate_w in estimates_w)
        / variation_w
    )
