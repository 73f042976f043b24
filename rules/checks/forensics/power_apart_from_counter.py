"""Power readings do not follow the energy counter

## What it does
Correlates, for each H200 under load, each instantaneous reading with the increase of the energy
counter in the intervals around it, from one sample earlier to one sample later. Intervals in which
the counter did not advance, or advanced twice, are skipped. The rule reports a series if no
correlation reaches 0.07 in magnitude. Training with batches below 0.1 s is skipped: a step of the
counter then covers whole batches, and a reading a part of one. For the same reason servers with
fewer than 64 requests in flight are skipped: prefill of a prompt takes some milliseconds. Other
boards are skipped, because none has been measured.

## Why it is bad
Readings and counter do not belong to the same run, and their agreement over the run (E103) was
fabricated.

It is a note. Counter and readings observe the same power, so an interval with more energy has a
higher reading near it: on the measured boards the correlation is 0.11 to 0.70. It is 0.08 with
batches of 73 ms, and 0.10 with 16 requests in flight. Invented, shuffled or foreign readings keep
the mean and lose this correlation. The statistic comes from few boards, and a board with very even
power would fail it.

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
from rules.metrics.power.series import PERIOD_S, Series, correlate_lagged
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "E121", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

LEAST = 0.07
"""Lowest plausible magnitude of the correlation; measured boards have 0.11 or more, unrelated
series 0.03 to 0.04 (docs/forensics.md)."""
LEAST_IN_FLIGHT = 64
"""Servers with fewer requests in flight are not judged."""
MAX_LAG = 1
"""Lags in samples, in both directions."""
SINGLE_STEP = (0.5, 1.5)
"""Range around the median increase in which the counter advanced once."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        correlation = correlate_with_counter(series, bundle)
        if correlation is not None and abs(correlation) < LEAST:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: the correlation of power_mw and the increases of energy_mj "
                f"is at most {abs(correlation):.2f}",
                f"at least {LEAST}",
            )


def correlate_with_counter(series: Series, bundle: Bundle) -> float | None:
    """The largest correlation of readings and increases of the counter at any lag; None if there
    is nothing to compare, the batches are too short, or too few requests are in flight."""
    if bundle.request_set is not None and bundle.request_set.concurrency < LEAST_IN_FLIGHT:
        return None
    windows_s = bundle.read_batch_windows_s(series.accelerator)
    if windows_s and len(windows_s[0]) and np.median(windows_s[1] - windows_s[0]) < PERIOD_S:
        return None
    # An increase belongs to the later of its two samples. The first sample has none.
    counted_w = np.concatenate(([np.nan], series.counted_w))[series.load]
    finite_w = counted_w[np.isfinite(counted_w)]
    if not len(finite_w):
        return None
    median_w = float(np.median(finite_w))
    low_w, high_w = (factor * median_w for factor in SINGLE_STEP)
    # Counter and sampler both run at about 10 Hz. Where they drift past each other, an interval has
    # no refresh or two.
    single_w = np.where((counted_w > low_w) & (counted_w < high_w), counted_w, np.nan)
    return correlate_lagged(series.under_load_w, single_w, MAX_LAG)
