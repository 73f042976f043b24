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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT, SAMPLES, rows
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import every, of_first

RULE = Rule("P106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    wanted_ms = bundle.protocol.sample_interval_ms
    stated_ms = bundle.result["sampling"]["interval_ms"]
    if stated_ms != wanted_ms:
        meaning = "All runs are sampled in the same rhythm. Run again with the protocol's interval."
        yield Found(RESULT, "/sampling/interval_ms", f"{stated_ms} ms", f"{wanted_ms} ms", meaning)
    for accelerator, samples in bundle.samples_of.items():
        scheduled_ns = samples.ints("scheduled_ns")
        off = (scheduled_ns - scheduled_ns[0]) % (wanted_ms * 1_000_000) != 0
        early = samples.ints("read_ns") < scheduled_ns
        if off.any():
            yield Found(
                SAMPLES,
                rows(samples, off),
                f"{accelerator}: {off.sum()} samples due between the ticks",
                f"scheduled_ns in whole steps of {wanted_ms} ms",
                "Deadlines are absolute: start plus a whole number of intervals. Sample that way.",
            )
        if early.any():
            yield Found(
                SAMPLES,
                rows(samples, early),
                f"{accelerator}: {early.sum()} samples read before they were due",
                "read_ns at or after scheduled_ns",
                "A reading cannot come before its deadline; these times do not come from "
                "the sampler.",
            )


@RULE.mutation()
def some_deadlines_moved(evidence: Evidence) -> None:
    evidence.samples.loc[every(10, of_first(evidence)), "scheduled_ns"] -= 7_000_000


@RULE.mutation()
def read_before_due(evidence: Evidence) -> None:
    evidence.samples["scheduled_ns"] += 100_000_000


@RULE.mutation()
def another_interval_stated(evidence: Evidence) -> None:
    evidence.result["sampling"]["interval_ms"] = 1000
