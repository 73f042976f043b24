"""Power that has nothing to do with the clock

## What it does
Correlates the instantaneous power of each H200 under load with its SM clock, at lags of up to five
samples either way, in each half of the run. It speaks where in one half no correlation reaches 0.08
in magnitude. It is asked only where the power cap holds the clock down in at least half of the
samples, and the clock moves: at least five values, and 5 % of the samples off the most frequent
one. Other boards are left alone: none has been measured.

## Why it is bad
Power readings that do not belong to the clocks beside them were not read with them.

It is a note. Under a cap the driver lowers the clock when power is high and raises it when power is
low, so the two move together at some lag: on the measured boards by 0.17 to 0.79. Readings that
were made up or shuffled, or come from another run, do not follow this run's clock: for 1 500 of
them chance gives 0.05 to 0.07. It is a statistic of few boards, and a work with perfectly even
power would fail it.

## What to do
Hand in what the meter read, all columns of one reading together.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import Series, halves, lagged
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W123", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
LEAST = 0.08
LAGS = 5
CAPPED_SHARE = 0.5
VALUES = 5
HIGHEST_MHZ = 100_000
OFF_SHARE = 0.05


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for one in bundle.measured_series:
        found = with_clock(one)
        if found is not None and abs(found) < LEAST:
            message = (
                "Under a cap, power and clock move together. Hand in what the meter read, all "
                "columns together."
            )
            told = (
                f"{one.accelerator}: a correlation of power and SM clock of {abs(found):.2f} "
                "at most"
            )
            yield Violation(
                SAMPLES,
                one.place,
                told,
                f"at least {LEAST} at some lag of up to {LAGS} samples",
                message,
            )


def with_clock(one: Series) -> float | None:
    """The largest correlation of power and clock at any of the lags, in the half where it is less;
    None for nothing to ask."""
    clock = one.sm_mhz[one.load]
    read = clock[np.isfinite(clock) & (clock >= 0) & (clock < HIGHEST_MHZ)]
    counts = np.bincount(read.astype(np.int64))
    if (
        (counts > 0).sum() < VALUES
        or counts.max() > (1 - OFF_SHARE) * counts.sum()
        or one.capped_share < CAPPED_SHARE
    ):
        return None
    found = [lagged(one.under_load_w[half], clock[half], LAGS) for half in halves(len(clock))]
    return min((value for value in found if value is not None), key=abs, default=None)
