"""Batches of training leave gaps, or a board works between epochs

## What it does
Examines training runs in two ways:

- Per scored epoch and accelerator, it compares the time in which batches were active with the time
  from the first batch to the end of the last batch. It reports shares from 90 % to 99.5 %. T109
  reports lower ones.
- Between scored epochs, it counts the samples whose power exceeds 70 % of the mean power under
  load. They may number 0.5 % of the samples under load.

## Why it is bad
Throughput and energy per item are computed over the time of active batches. A harness that records
whole batches leaves almost nothing between them: the next batch starts where the last one ends. A
gap shows that windows were shortened, that slow batches were removed, or that the accelerator
waited for its input outside the windows. Work between epochs is work whose time does not count.
Each of these overstates the throughput by the share of the gaps.

## What to do
Record a batch from its first operation to its last, and record every batch. If the accelerator
really waited between batches, include the wait in a window or explain it. Do not evaluate or train
between scored epochs.

## Source
The first 17 training runs on H200s: every scored epoch has a share of 99.996 % or more. Between
epochs, a run has at most 6 samples with the power of load, 0.2 % of its samples under load.
Serving runs are not judged, because requests leave gaps when few of them are in flight.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, SAMPLES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.metrics.activity import list_active_shares
from rules.metrics.power.series import Series
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T122", Severity.WARNING, standings=("closed", "open"), added="1.5.0")

MIN_ACTIVE_SHARE = 0.995
"""Lowest usual active share of a training epoch; measured runs have 0.99996 or more."""
WORKING_SHARE = 0.7
"""A board works if it draws this share of its mean power under load."""
MAX_WORK_BETWEEN = 0.005
"""Highest usual number of samples at work between epochs, as a share of those under load; measured
runs have at most 0.002."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if not bundle.is_training:
        return
    active_shares = list_active_shares(bundle.scored_parts, bundle.spans)
    for series in bundle.series:
        shares = active_shares[series.accelerator]
        # T109 reports shares below the limit of the protocol.
        if min(shares) >= bundle.protocol.min_active_share:
            yield from _check_gaps_in_epochs(series.accelerator, shares)
            yield from _check_work_between_epochs(bundle, series)


def _check_gaps_in_epochs(accelerator: str, active_shares: Sequence[float]) -> Iterator[Violation]:
    low_shares = [share for share in active_shares if share < MIN_ACTIVE_SHARE]
    if low_shares:
        yield Violation(
            BATCHES,
            "",
            f"{accelerator}: batches active in {100 * min(low_shares):.2f} % of an epoch, in "
            f"{len(low_shares)} epochs",
            f"at least {100 * MIN_ACTIVE_SHARE:g} %",
        )


def _check_work_between_epochs(bundle: Bundle, series: Series) -> Iterator[Violation]:
    if not len(series.usable_w):
        return
    read_ns = series.samples.ints("read_ns")
    between = np.zeros(len(read_ns), dtype=bool)
    spans = sorted(bundle.scored_spans_of[bundle.accelerator_ranks[series.accelerator]])
    for (_, end_ns), (start_ns, _) in pairwise(spans):
        between |= (read_ns > end_ns) & (read_ns < start_ns)
    # NaN, a reading that failed, compares as not above.
    working = between & (series.power_w > WORKING_SHARE * series.usable_w.mean())
    count, count_under_load = np.count_nonzero(working), np.count_nonzero(series.load)
    if count > MAX_WORK_BETWEEN * count_under_load:
        yield Violation(
            SAMPLES,
            format_rows(series.samples, working),
            f"{series.accelerator}: {format_count(int(count), 'sample')} "
            f"between epochs with the power of load",
            f"at most {MAX_WORK_BETWEEN * count_under_load:.0f}, as no batch ran",
        )
