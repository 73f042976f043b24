"""Node power contradicts volts, amperes and power factor

## What it does
Compares the power of each reading with volts x amperes x power factor, where the meter has all of
them and the power is above 5 % of its range. More than 1 % of the readings may not differ by more
than 1 %.

## Why it is bad
One of the columns was altered, or the meter scales one of them wrongly.

## What to do
Submit the readings as the meter gave them. Check the scale of each column.

## Source
A log of a server with eight B200 (MLPerf Inference 5.1): the 99th percentile of the difference is
0.044 %.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.bundle_format.table import format_rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N107", Severity.ERROR, since="1.1", added="1.6.0", statistical=True)
MAX_DIFFERENCE = 0.01
MAX_SHARE = 0.01
MIN_RANGE_SHARE = 0.05


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for trace in bundle.feed_traces:
        readings = trace.readings
        power_w = readings.floats("power_mw") / 1e3
        product_w = (
            (readings.floats("voltage_mv") / 1e3)
            * (readings.floats("current_ma") / 1e3)
            * (readings.floats("pf_ppm") / 1e6)
        )
        floor_w = MIN_RANGE_SHARE * (trace.meter.range_w or 0.0)
        compared = np.isfinite(product_w) & (product_w != 0) & (power_w > floor_w)
        if not compared.any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = compared & (np.abs(power_w / product_w - 1) > MAX_DIFFERENCE)
        share = np.count_nonzero(wrong) / np.count_nonzero(compared)
        if share > MAX_SHARE:
            yield Violation(
                NODE_SAMPLES_FILE,
                format_rows(readings, wrong),
                f"{trace.label}: {share:.0%} of the readings differ by more than 1 % from volts x "
                "amperes x power factor",
                f"at most {MAX_SHARE:.0%} of them",
            )
