"""Batches cover too little of an epoch

## What it does
Compares, per scored epoch and accelerator, the time in which batches were active with the time from
the first batch to the end of the last batch. The share must reach the limit of the protocol (90 %).

## Why it is bad
Rates and power are computed over the time of active batches. Windows that cover a part of the work,
such as the forward pass, give a throughput that the system does not reach.

## What to do
Record a batch from its first operation to its last, including the optimiser step. If the
accelerator really waited between batches, remove the reason or explain it. The run stands, and a
reviewer should examine it.

## Source
Protocol, section "what counts".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.metrics.activity import list_active_shares
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T109", Severity.WARNING)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    limit = bundle.protocol.min_active_share
    for accelerator, active_shares in list_active_shares(bundle.scored_parts, bundle.spans).items():
        low_shares = [share for share in active_shares if share < limit]
        if low_shares:
            yield Violation(
                BATCHES,
                "",
                f"{accelerator}: batches active in {100 * min(low_shares):.1f} % of an epoch, in "
                f"{len(low_shares)} epochs",
                f"at least {100 * limit:g} %",
            )
