"""Power does not follow the batches

## What it does
Assigns the instantaneous readings of each H200 under load to eighths of the batch that was running,
and tests with the F statistic of an analysis of variance whether power differs between the eighths.
The rule computes F for each half of the run, and reports a series if F is below 4 in one half. It
applies only to training, where the batches of a rank follow each other, and only to batches of 0.1
to 1 s: readings average the parts of shorter batches, and the power of longer ones may be even
throughout. Other boards are skipped, because none has been measured.

## Why it is bad
Batch windows and readings do not belong to one run.

It is a note. Some parts of a batch draw more power than others (forward, backward, optimiser), and
1 500 superimposed readings of any board show this: on the measured boards F is 9 to 441 for such
batches, and 3.5 for batches of 73 ms. Foreign or invented readings are unrelated to the start of
the batches: for them F is about 1, and above 4 in one of 5 000 cases. A workload with very even
power would fail this statistic.

## What to do
Submit the values that the meter read while these batches ran.

## Source
The measured bundles of this project (docs/forensics.md). Analysis of variance: any textbook of
statistics.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.series import PERIOD_S, Series, split_halves
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "T120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

LEAST_F = 4.0
"""Lowest plausible F; measured boards have 9.4 or more, unrelated readings about 1
(docs/forensics.md)."""
EIGHTHS = 8
MAX_BATCH_S = 1.0
"""Longest batch to which the rule applies."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for series in bundle.measured_series:
        f_statistic = compute_f_by_phase(series, bundle)
        if f_statistic is not None and f_statistic < LEAST_F:
            yield Violation(
                SAMPLES,
                series.place,
                f"{series.accelerator}: power is equal in all eighths of a batch "
                f"(F = {f_statistic:.1f})",
                f"power that differs between the parts of a batch (F of at least {LEAST_F:g})",
            )


def compute_f_by_phase(series: Series, bundle: Bundle) -> float | None:
    """F of the power between the eighths of a batch, in the half of the run where it is lower; None
    if the rule does not apply."""
    windows_s = bundle.read_batch_windows_s(series.accelerator)
    # The requests of a server overlap, so no reading has one phase.
    if windows_s is None:
        return None
    start_s, end_s = windows_s
    length_s = end_s - start_s
    if (
        not len(length_s)
        or not PERIOD_S <= float(np.median(length_s)) <= MAX_BATCH_S
        or length_s.min() <= 0
        # P110 reports overlapping batches. They have no phase either.
        or (end_s[:-1] > start_s[1:]).any()
    ):
        return None
    usable = series.load & np.isfinite(series.power_w)
    power_w, read_s = series.power_w[usable], series.read_s[usable]
    # The batch of each reading is the last one that had begun. Searching for the batches among the
    # readings takes half the time of the other direction, because there are fewer batches.
    begun = np.bincount(np.searchsorted(read_s, start_s), minlength=len(read_s) + 1)
    batch = np.maximum(np.cumsum(begun[:-1]) - 1, 0)
    phase = (read_s - start_s[batch]) / length_s[batch] * EIGHTHS
    eighth = np.minimum(np.maximum(phase.astype(np.int64), 0), EIGHTHS - 1)
    return min(
        (_compute_f(power_w[half], eighth[half]) for half in split_halves(len(power_w))),
        default=None,
    )


def _compute_f(power_w: NDArray[np.float64], eighth: NDArray[np.int64]) -> float:
    """F of an analysis of variance of `power_w` over `eighth`, both of shape (n,)."""
    # Centred values keep the sums of squares from cancellation: the variation is small beside the
    # mean.
    centred_w = power_w - np.add.reduce(power_w) / len(power_w)
    counts = np.bincount(eighth, minlength=EIGHTHS)
    sums = np.bincount(eighth, weights=centred_w, minlength=EIGHTHS)
    groups = np.count_nonzero(counts)
    between = float((sums**2 / np.maximum(counts, 1)).sum())
    within = float(centred_w @ centred_w) - between
    # With one group, or without variation within the groups, F is not defined.
    if groups < 2 or within <= 0:
        return np.inf
    return between / (groups - 1) / (within / (len(power_w) - groups))
