"""Gap between power samples in a scored epoch

## What it does
Computes the time between successive valid power readings of an accelerator where it overlaps with a
scored epoch, and compares it with the limit of the protocol (300 ms). A failed reading is not
valid.

## Why it is bad
The power in a gap is not known, and the trapezoid draws a straight line through it.

## What to do
Run again. If the gap occurs again, examine `status` in samples.csv.gz and the other processes on
the node.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, Rows
from rules.finding import Severity, Violation
from rules.metrics.power.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P105", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    limit_ms = bundle.protocol.max_gap_ms
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = bundle.scored_spans_of.get(rank)
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        valid: Rows = slice(None)
        # The search for valid readings is needed only if some power is missing.
        if samples.has_gaps("power_mw"):
            valid = has_power(samples)
        read_ns, places = samples.ints("read_ns")[valid], samples.places[valid]
        for i in np.flatnonzero(np.diff(read_ns) > limit_ms * 1e6):
            # A gap counts if it overlaps with an epoch, even if both readings lie outside of it.
            if any(read_ns[i] < end and read_ns[i + 1] > start for start, end in spans):
                gap_ms = (read_ns[i + 1] - read_ns[i]) / 1e6
                yield Violation(
                    SAMPLES,
                    f"rows {places[i] + 1}-{places[i + 1] + 1}",
                    f"{accelerator}: {gap_ms:.0f} ms without a power reading",
                    f"at most {limit_ms:g} ms in a scored epoch",
                )
