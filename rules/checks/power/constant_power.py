"""Power readings are constant under load

## What it does
Looks for scored epochs in which all power readings of an accelerator, at least 10, have the same
value.

## Why it is bad
The power of a working board varies from reading to reading. A constant comes from a stuck sensor,
from a driver that repeats its last value, or from values that were filled in.

## What to do
Reload the driver or replace the board, and run again. Do not fill in readings.

## Source
Burtscher, Zecena and Zong, Measuring GPU Power with the K20 Built-in Sensor, GPGPU-7, 2014, on
sensors that repeat values.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.readings import are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W103", Severity.ERROR)

MIN_SAMPLES = 10
"""Fewer samples may agree by chance, in the short epochs of a demo."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    stuck_epochs: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        power_w = part.power_w
        if len(power_w) > 1 and (power_w[0] < power_w[1] or power_w[0] > power_w[1]):
            continue  # the usual case, without a search for missing values
        power_w = power_w[np.isfinite(power_w)]
        if len(power_w) < MIN_SAMPLES or np.ptp(power_w) > 0:
            continue
        # W104 and W105 report epochs of zeros or of marks for a missing value.
        if power_w[0] > 0 and not are_sentinels(power_w[:1])[0]:
            stuck_epochs.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in stuck_epochs.items():
        samples = bundle.scored_samples_of[accelerator]
        yield Violation(
            SAMPLES,
            format_rows(samples, np.ones(len(samples), dtype=bool)),
            f"{accelerator}: constant power throughout epochs {', '.join(map(str, epochs))}",
            "readings that vary under load",
        )
