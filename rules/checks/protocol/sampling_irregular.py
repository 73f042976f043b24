"""Power samples at irregular intervals

## What it does
Computes the intervals between the samples of each accelerator over the time of the scored epochs.
At least 95 % of them must lie between 90 and 110 ms.

## Why it is bad
The trapezoid over power samples depends on their spacing, and a late sampler misses peaks.
Irregular samples mean that the node was overloaded or that another process blocked the driver.

## What to do
Reserve one CPU core per node for the sampler and stop other tools that poll the driver. Run again.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P104", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    protocol = bundle.protocol
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = bundle.scored_spans_of.get(rank)
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        read_ns = samples.ints("read_ns")
        # From the first scored epoch to the last: the pauses between epochs are sampled as well.
        begin_ns, end_ns = min(start for start, _ in spans), max(end for _, end in spans)
        scored = (read_ns >= begin_ns) & (read_ns <= end_ns)
        intervals_ms = np.diff(read_ns[scored]) / 1e6
        if len(intervals_ms) == 0:
            continue
        regular = intervals_ms >= protocol.interval_min_ms
        regular &= intervals_ms <= protocol.interval_max_ms
        # The share instead of every interval: a busy node delays single samples, and P105 limits
        # the gaps.
        if np.count_nonzero(regular) < protocol.regular_share * len(regular):
            yield Violation(
                SAMPLES,
                format_rows(samples, scored),
                f"{accelerator}: {100 * regular.mean():.1f} % of {len(regular)} intervals within "
                f"{protocol.interval_min_ms:g}-{protocol.interval_max_ms:g} ms",
                f"at least {100 * protocol.regular_share:g} %",
            )
