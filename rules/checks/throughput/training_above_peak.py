"""The steps of a training exceed the peak of the board

## What it does
Multiplies, for workloads with a target, the steps of each rank in each scored epoch by the batch
size and the FLOPs of a sample, and compares the product over the active time with the dense peak of
the rank at the precision of the run.

## Why it is bad
So many steps are impossible in this time. T104 does not see it: it takes one step per training.

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
from rules.metrics.run import min_peak_share, peak_flops
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T126", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    size, limit = bundle.size, bundle.protocol.max_peak_share
    peak = peak_flops(bundle.declaration, bundle.system_declaration)
    # M107 reports boards without a known peak.
    if size is None or size.target is None or peak is None:
        return
    steps: Counter[tuple[int, int]] = Counter()
    for epoch in bundle.stated_epochs:
        for training in epoch.trainings or ():
            steps[epoch.epoch, training.rank] += training.steps
    for part in bundle.scored_parts:
        samples_per_s = steps[part.epoch, part.rank] * bundle.batch_size / part.active_s
        share = min_peak_share(samples_per_s, size, peak / 1e12)
        if share > limit:
            yield Violation(
                BATCHES,
                "",
                f"rank {part.rank}: {100 * share:.0f} % of the dense peak of {peak / 1e12:g} "
                f"TFLOP/s, in epoch {part.epoch}",
                f"at most {100 * limit:g} %",
            )
