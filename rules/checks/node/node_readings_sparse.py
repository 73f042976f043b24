"""Node readings with gaps

## What it does
Looks for gaps of more than 3 s between the readings of a feed in a scored epoch, which is a
warning, and for feeds whose median interval over the run is more than 5 s, which is an error.

## Why it is bad
An epoch takes 30 s. Power that nobody read is interpolated.

## What to do
Read the meter once a second. If it answers late, read it from a machine that is nearer.

## Source
EE HPC WG, Power Measurement Methodology 2.0: one sample a second. Figures by epoch need ten
readings in each epoch.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.finding import Severity, Violation
from rules.metrics.node.level import get_median_interval_s
from rules.metrics.node.spans import span_scored_epochs
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N103", Severity.ERROR, since="1.1", added="1.6.0")
MAX_GAP_S = 3.0
MAX_INTERVAL_S = 5.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for trace in bundle.feed_traces:
        interval_s = get_median_interval_s(trace)
        if interval_s > MAX_INTERVAL_S:
            found = f"{trace.label}: a median interval of {interval_s:.1f} s"
            yield Violation(NODE_SAMPLES_FILE, "", found, f"at most {MAX_INTERVAL_S:.0f} s")
            continue
        gaps_s = np.diff(trace.times_s)
        long = np.flatnonzero(gaps_s > MAX_GAP_S)
        spans = [
            ((span.start_ns - trace.zero_ns) / 1e9, (span.end_ns - trace.zero_ns) / 1e9)
            for span in span_scored_epochs(bundle.declaration, bundle.batches)
            if span.node == trace.feed.node
        ]
        inside = [
            gaps_s[gap]
            for gap in long.tolist()
            if any(
                trace.times_s[gap] < end_s and trace.times_s[gap + 1] > start_s
                for start_s, end_s in spans
            )
        ]
        if inside:
            yield Violation(
                NODE_SAMPLES_FILE,
                "",
                f"{trace.label}: {len(inside)} gaps, the longest of {max(inside):.1f} s",
                f"at most {MAX_GAP_S:.0f} s between two readings in a scored epoch",
                severity=Severity.WARNING,
            )
