"""Power samples at irregular intervals

## What it does
Takes the intervals between the samples of each accelerator over the span of the scored epochs, and
asks that nearly all of them are near the protocol's interval.

## Why it is bad
The trapezoid over power samples is only as good as their spacing, and a sampler that is late does
not see peaks. Irregular samples mean that the node was overloaded or that something else held the
driver.

## What to do
Leave one CPU core per node to the sampler and stop other tools that poll the driver, then run
again.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P104", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    protocol = bundle.protocol
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = bundle.scored_spans_of.get(rank)
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        read_ns = samples.ints("read_ns")
        scored = (read_ns >= min(s[0] for s in spans)) & (read_ns <= max(s[1] for s in spans))
        intervals_ms = np.diff(read_ns[scored]) / 1e6
        if len(intervals_ms) == 0:
            continue
        near = (intervals_ms >= protocol.interval_min_ms) & (
            intervals_ms <= protocol.interval_max_ms
        )
        if np.count_nonzero(near) < protocol.regular_share * len(near):
            yield Violation(
                SAMPLES,
                rows(samples, scored),
                f"{accelerator}: {100 * near.mean():.1f} % of {len(near)} intervals within "
                f"{protocol.interval_min_ms:g}-{protocol.interval_max_ms:g} ms",
                f"at least {100 * protocol.regular_share:g} %",
                "The sampler did not keep its rhythm. Leave it a CPU core of its own and "
                "run again.",
            )
