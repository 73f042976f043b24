"""Batches before the first or after the last sample

## What it does
Asks that the samples of every accelerator begin before its first batch and end after its last one.

## Why it is bad
What a board drew outside its samples is not known, and nothing is extrapolated. Usual reasons are a
sampler that died, and tables of two runs or two clocks in one bundle.

## What to do
Run again. On several nodes, give samples and batches of a node on the clock of that node.

## Source
Protocol, section "energy of record".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W110", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = [span for (_, r), span in bundle.spans.items() if r == rank]
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        read_ns = samples.ints("read_ns")
        before_s = (read_ns.min() - min(s[0] for s in spans)) / 1e9
        after_s = (max(s[1] for s in spans) - read_ns.max()) / 1e9
        for missing_s, what in (
            (before_s, "begin before its first sample"),
            (after_s, "end after its last sample"),
        ):
            if missing_s > 0:
                yield Violation(
                    BATCHES,
                    "",
                    f"batches of rank {rank} {what} ({accelerator}), by {missing_s:.3f} s",
                    "samples from before the first batch to after the last one",
                    "The power outside the samples is not known. Run again with a sampler "
                    "that lives as long as the run.",
                )
