"""Averaged power recorded as instantaneous power

## What it does
Looks for accelerators whose instantaneous and averaged power are equal in every sample, of at least
10 samples that have both.

## Why it is bad
Averaged power lags behind by the length of its window. Recorded as instantaneous power, it appears
more precise than it is, and the energy counter is compared with it under the wrong limit.

## What to do
Leave `power_mw` empty if the board only has an average, and write the average to `power_avg_mw`.

## Source
NVML API reference: `nvmlDeviceGetPowerUsage` is a one-second average on Hopper; field 186
(`NVML_FI_DEV_POWER_INSTANT`) is instantaneous.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.readings import read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W109", Severity.ERROR)

MIN_SAMPLES = 10
"""Fewer samples may agree by chance."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.samples_of.items():
        power_w, average_w = read_power_w(samples), read_average_power_w(samples)
        # Boards with only one of the two quantities leave the other column empty.
        both = np.isfinite(power_w) & np.isfinite(average_w)
        if both.sum() >= MIN_SAMPLES and np.array_equal(power_w[both], average_w[both]):
            yield Violation(
                SAMPLES,
                format_rows(samples, both),
                f"{accelerator}: power_mw equals power_avg_mw in all {both.sum()} samples",
                "two different readings, or an empty cell for the one that the board does not have",
            )
