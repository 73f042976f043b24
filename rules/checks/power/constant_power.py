"""Power readings that never change under load

## What it does
Looks for scored epochs in which all power readings of an accelerator are the same value.

## Why it is bad
The power of a working board varies from reading to reading. A constant is a stuck sensor, a driver
that repeats its last value, or a number that was filled in.

## What to do
Reload the driver or replace the board, and run again. Do not fill in readings.

## Source
Burtscher, Zecena and Zong, Measuring GPU Power with the K20 Built-in Sensor, GPGPU-7, 2014, on
sensors that repeat values.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.metrics.readings import are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W103", Severity.ERROR)

ENOUGH_SAMPLES = 10  # fewer may agree by chance, in the short epochs of a demo


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    stuck: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        power_w = part.power_w
        if len(power_w) > 1 and (power_w[0] < power_w[1] or power_w[0] > power_w[1]):
            continue  # two readings tell enough of almost every part
        power_w = power_w[np.isfinite(power_w)]
        if len(power_w) < ENOUGH_SAMPLES or np.ptp(power_w) > 0:
            continue
        if power_w[0] > 0 and not are_sentinels(power_w[:1])[0]:
            stuck.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in stuck.items():
        own = bundle.scored_samples_of[accelerator]
        yield Violation(
            SAMPLES,
            rows(own, np.ones(len(own), dtype=bool)),
            f"{accelerator}: one and the same power throughout epochs "
            f"{', '.join(map(str, epochs))}",
            "readings that vary under load",
            "The sensor is stuck, or the readings were filled in. Reload the driver and run again.",
        )
