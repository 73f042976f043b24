"""Batches of training leave gaps in an epoch

## What it does
Compares, per scored epoch and accelerator of a training run, the time in which batches were active
with the time from the first batch to the end of the last batch. The rule reports shares from 90 %
to 99.5 %. T109 reports lower ones.

## Why it is bad
Throughput and energy per item are computed over the time of active batches. A harness that records
whole batches leaves almost nothing between them: the next batch starts where the last one ends. A
gap shows that windows were shortened, that slow batches were removed, or that the accelerator
waited for its input outside the windows. Each of these overstates the throughput by the share of
the gaps.

## What to do
Record a batch from its first operation to its last, and record every batch. If the accelerator
really waited between batches, include the wait in a window or explain it.

## Source
The committed runs: in 17 training runs of H200s every scored epoch has a share of 99.996 % or more.
Serving runs are not judged, because requests leave gaps when few of them are in flight.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.checks.throughput.active_share_low import list_active_shares
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T122", Severity.WARNING, standings=("closed", "open"), added="1.5.0")

MIN_ACTIVE_SHARE = 0.995
"""Lowest usual active share of a training epoch; measured runs have 0.99996 or more."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if not bundle.is_training:
        return
    for accelerator, active_shares in list_active_shares(bundle).items():
        # T109 reports shares below the limit of the protocol.
        if min(active_shares) < bundle.protocol.min_active_share:
            continue
        low_shares = [share for share in active_shares if share < MIN_ACTIVE_SHARE]
        if low_shares:
            yield Violation(
                BATCHES,
                "",
                f"{accelerator}: batches active in {100 * min(low_shares):.2f} % of an epoch, in "
                f"{len(low_shares)} epochs",
                f"at least {100 * MIN_ACTIVE_SHARE:g} %",
            )
