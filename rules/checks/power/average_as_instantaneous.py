"""Averaged power given as instantaneous

## What it does
Looks for accelerators whose instantaneous and averaged power are the same in every sample.

## Why it is bad
Averaged power lags behind by the length of its window. Given as instantaneous it passes for a
better reading than it is, and the energy counter is compared with it too strictly or not at all
rightly.

## What to do
Leave `power_mw` empty where the board has only an average, and write that to `power_avg_mw`.

## Source
NVML API reference: `nvmlDeviceGetPowerUsage` is a one-second average on Hopper; field 186
(`NVML_FI_DEV_POWER_INSTANT`) is instantaneous.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.metrics.readings import read_average_power_w, read_power_w
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W109", Severity.ERROR)

ENOUGH_SAMPLES = 10  # fewer may agree by chance


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.samples_of.items():
        power_w, average_w = read_power_w(samples), read_average_power_w(samples)
        both = np.isfinite(power_w) & np.isfinite(average_w)
        if both.sum() >= ENOUGH_SAMPLES and np.array_equal(power_w[both], average_w[both]):
            yield Violation(
                SAMPLES,
                rows(samples, both),
                f"{accelerator}: power_mw equals power_avg_mw in all {both.sum()} samples",
                "two different readings, or an empty cell for the one that the board does not have",
                "An average was recorded as instantaneous power, or the other way about. "
                "Leave the missing one empty.",
            )
