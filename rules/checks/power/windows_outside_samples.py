"""Batches run before the first or after the last sample

## What it does
Checks that the samples of every accelerator begin before its first batch and end after its last
batch.

## Why it is bad
The power outside the samples is not known, and the metrics do not extrapolate. Usual causes are a
sampler that ended early, and tables of two runs or two clocks in one bundle.

## What to do
Run again. On several nodes, record samples and batches of a node on the clock of that node.

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
        spans = [span for (_, span_rank), span in bundle.spans.items() if span_rank == rank]
        samples = bundle.samples_of.get(accelerator)
        # W102 reports an accelerator without samples, and P119 a rank without batches.
        if samples is None or not spans:
            continue
        read_ns = samples.ints("read_ns")
        before_s = (read_ns.min() - min(start_ns for start_ns, _ in spans)) / 1e9
        after_s = (max(end_ns for _, end_ns in spans) - read_ns.max()) / 1e9
        for missing_s, position in (
            (before_s, "begin before its first sample"),
            (after_s, "end after its last sample"),
        ):
            if missing_s > 0:
                yield Violation(
                    BATCHES,
                    "",
                    f"batches of rank {rank} {position} ({accelerator}), by {missing_s:.3f} s",
                    "samples from before the first batch to after the last batch",
                )
