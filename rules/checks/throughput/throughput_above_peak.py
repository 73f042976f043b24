"""The throughput exceeds the peak of the board

## What it does
Multiplies the throughput of each rank in each scored epoch by the minimum FLOPs of one item, and
compares the product with the dense peak at the precision of the run, added over the accelerators of
the rank. For a precision without a known peak, the highest peak of the board is used.

## Why it is bad
Such a throughput is impossible. Items, time or precision differ from the bundle, or the model is
not that of the workload.

## What to do
Look for windows that do not cover the whole batch, for items that are counted more than once (by
every rank, for example), and check the precision that was really used.

## Source
Protocol, section "bounds"; peaks in `rules/boards.py`; FLOPs in `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.metrics.run import as_defined, min_peak_share
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    size, limit = bundle.size, bundle.protocol.max_peak_share
    if size is None:
        return
    defined = as_defined(bundle.request_set, size)
    for rank in bundle.ranks:
        peak_tflops = bundle.sum_peaks_tflops(rank)
        parts = [part for part in bundle.scored_parts if part.rank == rank.rank]
        # M107 reports boards without a known peak.
        if peak_tflops is None or not parts:
            continue
        # One epoch above the peak is impossible, even if the mean of the run is not.
        share, epoch = max(
            (min_peak_share(part.items / part.active_s, size, peak_tflops, defined), part.epoch)
            for part in parts
        )
        if share > limit:
            yield Violation(
                BATCHES,
                "",
                f"rank {rank.rank} on {', '.join(rank.accelerators[:4])}: {100 * share:.0f} % of "
                f"the dense peak of {peak_tflops:g} TFLOP/s, in epoch {epoch}",
                f"at most {100 * limit:g} %",
            )
