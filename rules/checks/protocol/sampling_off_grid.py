"""Samples were not scheduled on the sampling grid

## What it does
Checks that every `scheduled_ns` lies a whole number of sampling intervals after the first one, that
the interval is that of the protocol (100 ms), and that no sample was read before its deadline.

## Why it is bad
The sampler uses absolute deadlines, so that the intervals do not depend on the load. Times off this
grid were sampled in another way, or were edited.

## What to do
Sample with `bench-submit`, or with a sampler that uses absolute deadlines: start time plus a whole
number of intervals.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    interval_ms = bundle.protocol.sample_interval_ms
    stated_ms = bundle.declaration.sampling.interval_ms
    if stated_ms != interval_ms:
        yield Violation(RESULT, "/sampling/interval_ms", f"{stated_ms} ms", f"{interval_ms} ms")
    for accelerator, samples in bundle.samples_of.items():
        scheduled_ns = samples.ints("scheduled_ns")
        # The first deadline fixes the grid, because the sampler starts at any time.
        off_grid = (scheduled_ns - scheduled_ns[0]) % (interval_ms * 1_000_000) != 0
        early = samples.ints("read_ns") < scheduled_ns
        if off_grid.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, off_grid),
                f"{accelerator}: {off_grid.sum()} samples scheduled between the ticks",
                f"scheduled_ns in whole steps of {interval_ms} ms",
            )
        if early.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, early),
                f"{accelerator}: {format_count(early.sum(), 'sample')} read before their deadline",
                "read_ns at or after scheduled_ns",
            )
