"""Power readings do not follow the clock

## What it does
Correlates the instantaneous power of each H200 under load with its SM clock, at lags of up to five
samples in both directions, in each half of the run. The rule reports a series if in one half no
correlation reaches 0.08 in magnitude. It applies only if the power cap is the reason of the clock
in at least 90 % of the samples and holds it (W119 says when), and the clock varies: it has at least
five values, and 5 % of the samples differ from the most frequent value. Other boards are skipped,
because none has been measured.

## Why it is bad
Power readings that do not match the clocks beside them were not read together with them.

It is a note. Under a cap the driver lowers the clock when power is high and raises it when power is
low, so the two are correlated at some lag: on the measured boards by 0.15 to 0.79. A board that is
limited half of the time, a server with four requests in flight, has 0.10. Invented, shuffled or
foreign readings do not follow the clock of this run: for 1 500 of them chance gives 0.05 to 0.07.
The statistic comes from few boards, and a workload with very even power would fail it.

## What to do
Submit the values that the meter read, all columns of one reading together.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.known_results import is_held_by_cap
from rules.metrics.power.series import Series, correlate_lagged, split_halves
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W123", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

LEAST = 0.08
"""Lowest plausible magnitude of the correlation; measured boards have 0.15 or more, unrelated
series 0.05 to 0.07 (docs/forensics.md)."""
MAX_LAG = 5
"""Lags in samples, in both directions."""
CAPPED_SHARE = 0.9
"""Lowest share of samples in which the power cap limits the clock."""
MIN_VALUES = 5
"""Lowest number of different clocks."""
HIGHEST_MHZ = 100_000
"""Higher values are no clocks. The limit bounds the size of the histogram."""
VARYING_SHARE = 0.05
"""Lowest share of samples whose clock is not the most frequent one."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        # At a ceiling, the clock does not follow the power.
        if not is_held_by_cap(bundle, series):
            continue
        correlation = correlate_with_clock(series)
        if correlation is not None and abs(correlation) < LEAST:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: the correlation of power and SM clock is at most "
                f"{abs(correlation):.2f}",
                f"at least {LEAST} at a lag of up to {MAX_LAG} samples",
            )


def correlate_with_clock(series: Series) -> float | None:
    """The largest correlation of power and clock at any lag, in the half of the run where it is
    lower; None if the rule does not apply."""
    sm_mhz = series.sm_mhz[series.load]
    # The evidence is untrusted: `bincount` fails on negative values and takes memory for large
    # ones.
    valid_mhz = sm_mhz[np.isfinite(sm_mhz) & (sm_mhz >= 0) & (sm_mhz < HIGHEST_MHZ)]
    counts = np.bincount(valid_mhz.astype(np.int64))
    if (
        (counts > 0).sum() < MIN_VALUES
        or counts.max() > (1 - VARYING_SHARE) * counts.sum()
        or series.capped_share < CAPPED_SHARE
    ):
        return None
    correlations = [
        correlate_lagged(series.under_load_w[half], sm_mhz[half], MAX_LAG)
        # A forger may have replaced a part of the run. A real half next to it must not hide that.
        for half in split_halves(len(sm_mhz))
    ]
    return min((value for value in correlations if value is not None), key=abs, default=None)
