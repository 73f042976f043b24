"""Samples that were not due when they say

## What it does
Asks that every `scheduled_ns` lies a whole number of sampling intervals after the first one, that
the interval is the protocol's, and that no sample was read before it was due.

## Why it is bad
Samples are taken on absolute deadlines, so that the rhythm does not depend on the load. Times off
that grid were taken another way, or were edited.

## What to do
Sample with `bench-submit`, or with a sampler that keeps absolute deadlines.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    wanted_ms = bundle.protocol.sample_interval_ms
    stated_ms = bundle.result["sampling"]["interval_ms"]
    if stated_ms != wanted_ms:
        meaning = "All runs are sampled in the same rhythm. Run again with the protocol's interval."
        yield Violation(
            RESULT, "/sampling/interval_ms", f"{stated_ms} ms", f"{wanted_ms} ms", meaning
        )
    for accelerator, samples in bundle.samples_of.items():
        scheduled_ns = samples.ints("scheduled_ns")
        off = (scheduled_ns - scheduled_ns[0]) % (wanted_ms * 1_000_000) != 0
        early = samples.ints("read_ns") < scheduled_ns
        if off.any():
            yield Violation(
                SAMPLES,
                rows(samples, off),
                f"{accelerator}: {off.sum()} samples due between the ticks",
                f"scheduled_ns in whole steps of {wanted_ms} ms",
                "Deadlines are absolute: start plus a whole number of intervals. Sample that way.",
            )
        if early.any():
            yield Violation(
                SAMPLES,
                rows(samples, early),
                f"{accelerator}: {early.sum()} samples read before they were due",
                "read_ns at or after scheduled_ns",
                "A reading cannot come before its deadline; these times do not come from "
                "the sampler.",
            )
