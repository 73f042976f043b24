"""Node readings that are none

## What it does
Looks for power readings that are marks of meters and drivers for "no value" (negative, 65 535 W,
4 294 967 295), readings above the range of the meter, readings of scored epochs with the status
`over-range`, and feeds whose readings are all below 5 % of the range.

## Why it is bad
A mark taken for a number adds power that nobody used. A meter is not accurate outside its range and
at its lower end.

## What to do
Record a failed read as an empty cell with its status. Choose a range that fits the load.

## Source
IPMI 2.0 DCMI and SCPI-99: the marks. IEC 62053-21: accuracy holds from 5 % of the rated current.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.bundle_format.table import format_rows
from rules.finding import Severity, Violation
from rules.metrics.node.spans import span_scored_epochs
from rules.metrics.power.readings import are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N111", Severity.ERROR, since="1.1", added="1.6.0")
MIN_RANGE_SHARE = 0.05


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Most runs have no node meter, and finding the spans takes time.
    if not bundle.feed_traces:
        return
    scored = span_scored_epochs(bundle.declaration, bundle.batches)
    for trace in bundle.feed_traces:
        readings, range_w = trace.readings, trace.meter.range_w
        power_w = readings.floats("power_mw") / 1e3
        marks = are_sentinels(power_w)
        if marks.any():
            found = f"{trace.label}: {float(power_w[marks][0]):g} W"
            expected = "a power, or an empty cell and a status"
            yield Violation(NODE_SAMPLES_FILE, format_rows(readings, marks), found, expected)
            continue
        read_ns = readings.ints("read_ns")
        in_epoch = np.zeros(len(readings), dtype=bool)
        for span in scored:
            if span.node == trace.feed.node:
                in_epoch |= (read_ns >= span.start_ns) & (read_ns <= span.end_ns)
        over = readings.text("status").equals("over-range") & in_epoch
        if range_w is not None:
            over |= power_w > range_w
        if over.any():
            found = f"{trace.label}: {np.count_nonzero(over)} readings above the range of the meter"
            yield Violation(
                NODE_SAMPLES_FILE, format_rows(readings, over), found, "readings within its range"
            )
        if range_w is not None and not (power_w >= MIN_RANGE_SHARE * range_w).any():
            found = f"{trace.label}: no reading above {MIN_RANGE_SHARE * range_w:g} W"
            yield Violation(
                NODE_SAMPLES_FILE, "", found, f"readings above 5 % of the range of {range_w:g} W"
            )
