"""Power that does not follow the batches

## What it does
Sorts the instantaneous readings of each H200 under load into eighths of the batch that was running,
and tests by the F statistic of an analysis of variance whether power differs between the eighths.
It does so for each half of the run, and speaks where F is below 4 in one. It is asked for training
only, where the batches of a rank follow each other, and only where they take at most 1 s: longer
ones may be even throughout. Other boards are left alone: none has been measured.

## Why it is bad
Batch windows and readings are not of one run.

It is a note. A batch has parts that draw more than others (forward, backward, optimiser), and the
readings of any board show it when 1 500 of them are laid over each other: on the measured boards F
is 23 to 441 for such batches. Readings of another run, or made-up ones, know nothing of when a
batch of this run began: for them F is about 1, and above 4 in one of 5 000 cases. It is a note,
because a work of perfectly even power would fail it.

## What to do
Hand in what the meter read while these batches ran.

## Source
The measured bundles of this project (docs/forensics.md). Analysis of variance: any textbook of
statistics.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES, SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.intervals import median
from rules.metrics.power_series import Series, halves
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "T120", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
LEAST_F = 4.0
EIGHTHS = 8
LONGEST_S = 1.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.requests is not None or bundle.result["settings"].get("requests"):
        return
    for one in bundle.measured_series:
        found = by_phase(one, bundle)
        if found is not None and found < LEAST_F:
            told = (
                f"{one.accelerator}: power is the same in every eighth of a batch (F = {found:.1f})"
            )
            message = (
                f"Readings and {BATCHES} are not of one run. Hand in what the meter read while "
                "these batches ran."
            )
            yield Violation(
                SAMPLES,
                one.place,
                told,
                f"power that differs between the parts of a batch (F of {LEAST_F:g} or more)",
                message,
            )


def by_phase(one: Series, bundle: Bundle) -> float | None:
    """F of the power between the eighths of a batch, in the half of the run where it is less; None
    for nothing to ask."""
    batches = bundle.batches.at(
        bundle.batches.ints("rank") == bundle.accelerator_ranks[one.accelerator]
    )
    start_s, end_s = (np.sort(batches.ints(name)) / 1e9 for name in ("start_ns", "end_ns"))
    length_s = end_s - start_s
    if (
        not len(length_s)
        or median(length_s) > LONGEST_S
        or length_s.min() <= 0
        or (end_s[:-1] > start_s[1:]).any()
    ):
        return None
    usable = one.load & np.isfinite(one.power_w)
    power_w, at_s = one.power_w[usable], one.read_s[usable]
    # For each reading the last batch that had begun: told from the fewer batches, in half the time.
    begun = np.bincount(np.searchsorted(at_s, start_s), minlength=len(at_s) + 1)
    of = np.maximum(np.cumsum(begun[:-1]) - 1, 0)
    eighth = np.minimum(
        np.maximum(((at_s - start_s[of]) / length_s[of] * EIGHTHS).astype(np.int64), 0), EIGHTHS - 1
    )
    return min((_f(power_w[half], eighth[half]) for half in halves(len(power_w))), default=None)


def _f(power_w: NDArray[np.float64], eighth: NDArray[np.int64]) -> float:
    apart_w = power_w - np.add.reduce(power_w) / len(power_w)
    counts = np.bincount(eighth, minlength=EIGHTHS)
    sums = np.bincount(eighth, weights=apart_w, minlength=EIGHTHS)
    filled = np.count_nonzero(counts)
    between = float((sums**2 / np.maximum(counts, 1)).sum())
    within = float(apart_w @ apart_w) - between
    if filled < 2 or within <= 0:
        return np.inf
    return between / (filled - 1) / (within / (len(power_w) - filled))
