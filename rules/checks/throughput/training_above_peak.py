"""The steps of a training exceed the peak of the board

## What it does
Multiplies, for workloads with a target, the steps of each rank in each scored epoch by the batch
size and the FLOPs of a sample, and compares the product over the active time with the dense peak of
the rank at the precision of the run.

## Why it is bad
So many steps are impossible in this time. T104 does not see it: it takes one step per training. No
rule sees fewer steps than were made.

## What to do
Look for windows that do not cover the whole training, and for steps or a batch size that are
overstated.

## Source
Protocol, section "bounds"; peaks in `rules/boards.py`; FLOPs in `rules/workloads/`.
"""

from collections import Counter
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.metrics.run import min_peak_share
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T126", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    size, limit = bundle.size, bundle.protocol.max_peak_share
    if size is None or size.target is None:
        return
    steps: Counter[tuple[int, int]] = Counter()
    for epoch in bundle.stated_epochs:
        for training in epoch.trainings or ():
            steps[epoch.epoch, training.rank] += training.steps
    for rank in bundle.ranks:
        peak_tflops = bundle.sum_peaks_tflops(rank)
        parts = [part for part in bundle.scored_parts if part.rank == rank.rank]
        # M107 reports boards without a known peak.
        if peak_tflops is None or not parts:
            continue
        share, number = max(
            (
                min_peak_share(
                    steps[part.epoch, part.rank] * bundle.batch_size / part.active_s,
                    size,
                    peak_tflops,
                ),
                part.epoch,
            )
            for part in parts
        )
        if share > limit:
            yield Violation(
                BATCHES,
                "",
                f"rank {rank.rank}: {100 * share:.0f} % of the dense peak of {peak_tflops:g} "
                f"TFLOP/s, in epoch {number}",
                f"at most {100 * limit:g} %",
            )
