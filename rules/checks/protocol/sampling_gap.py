"""A gap between power samples within a scored epoch

## What it does
Looks for two successive usable power readings of an accelerator that lie further apart than the
protocol allows, with a scored epoch between them. A reading that failed is not usable.

## Why it is bad
Nobody knows what the board drew in a gap; the trapezoid draws a straight line through it.

## What to do
Run again. If it comes back, look at `status` in samples.csv.gz and at what else runs on the node.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, Rows
from rules.finding import Severity, Violation
from rules.metrics.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P105", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    most_ms = bundle.protocol.max_gap_ms
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = bundle.scored_spans_of.get(rank)
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        usable: Rows = slice(None)
        if samples.has_gaps("power_mw"):
            usable = has_power(samples)
        read_ns, index = samples.ints("read_ns")[usable], samples.places[usable]
        for i in np.flatnonzero(np.diff(read_ns) > most_ms * 1e6):
            if any(read_ns[i] < end and read_ns[i + 1] > start for start, end in spans):
                yield Violation(
                    SAMPLES,
                    f"rows {index[i] + 1}-{index[i + 1] + 1}",
                    f"{accelerator}: {(read_ns[i + 1] - read_ns[i]) / 1e6:.0f} ms without "
                    "a power reading",
                    f"at most {most_ms:g} ms within a scored epoch",
                    "What the board drew meanwhile is not known. Run again.",
                )
