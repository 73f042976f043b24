"""The throughput varies too much between scored epochs

## What it does
Computes the coefficient of variation (standard deviation over mean) of the throughputs of the
scored epochs, and compares it with the limit of the protocol (3 %). Serving runs with an arrival
rate are skipped, and so are trainings to a target, whose steps depend on the seed.

## Why it is bad
A run that was not in a steady state, or that shared its node, does not have one throughput that
could be compared. If requests arrive at random, the work varies too.

## What to do
Examine the epochs in the result. A trend means that the board was still warming up, and a single
slow epoch that another process ran. With small batches the board waits for the host, whose speed
varies: mean power is then far below the cap; use a larger batch. Remove the cause and run again.

## Source
Protocol, section "steadiness".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.figures import estimate_mean
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P108", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    requests = bundle.request_set
    # At an arrival rate, the load fixes the throughput of an epoch, and its scatter is that of the
    # arrivals.
    if bundle.figures is None or (requests is not None and requests.rate_per_s is not None):
        return
    if bundle.target:
        return
    rate = estimate_mean(
        [epoch.items_per_s_per_accelerator for epoch in bundle.figures.scored_epochs]
    )
    if rate.sd is None or not rate.mean > 0:
        return
    variation = rate.sd / rate.mean
    if variation > bundle.protocol.max_throughput_cv:
        yield Violation(
            RESULT,
            "/headline/items_per_s_per_accelerator",
            f"coefficient of variation {100 * variation:.2f} % over {rate.n} epochs",
            f"at most {100 * bundle.protocol.max_throughput_cv:g} %",
        )
