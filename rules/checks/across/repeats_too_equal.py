"""Repeats that are too equal

## What it does
Compares runs of a center that are alike and at one cap, in whatever directory, by two figures, both
per accelerator: items/s and mean power. It speaks where for *both* of them

- the means are nearer to each other than a hundredth of what their own epochs let expect (of the
  standard error of their difference); where there are n such runs, and so n (n - 1) / 2 pairs,
  than a hundredth divided by the root of that; or
- the series of the scored epochs, each divided by its mean, differ from epoch to epoch by less
  than a twentieth of how much an epoch differs from the mean (root mean squares, at least eight
  epochs).

Runs are compared with their neighbours in order of throughput. It speaks of both.

## Why it is bad
Epochs scatter, and runs scatter more than that. By chance the first comes about in 0.006 % of the
pairs where the two figures have nothing to do with each other, and in 0.02 % where they go together
as much as in the measured bundles (a correlation of 0.95 from epoch to epoch); in less than that
where runs scatter more than their epochs let expect, which they do. J per item would be no second
witness: it follows the throughput, with correlations of down to -1.00. Epochs of which each is as
much above or below the mean as in another run, within a twentieth, were copied and stirred: ten
independent ones would not do so in one of 10^12 pairs. On the measured bundles, the part of an
epoch's difference that is no smooth drift is 17 to 99 % of the whole in throughput and 55 to 98 %
in power, so that the drift of a board that warms up does not do it either. It is a warning, since
all of this is statistics.

## What to do
Make the repeats again, each as a run of its own.

## Source
The epochs of the reference bundles; benchmarks/forensics.py prints their scatter.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import comb, fsum, sqrt
from pathlib import Path
from statistics import fmean

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.figures import Estimate
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X109", Severity.WARNING, added="1.3.0")

MEANS = 0.01
EPOCHS = 0.05
ENOUGH_EPOCHS = 8


def _estimates(run: RunSummary) -> tuple[Estimate, Estimate]:
    """What is compared; `RunSummary.epochs` has the same two for each epoch."""
    headline = run.headline
    return headline.items_per_s_per_accelerator, headline.mean_power_w_per_accelerator


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_comparison_key(digests):
        runs.sort(
            key=lambda run: (run.cap_w, run.headline.items_per_s_per_accelerator.mean, run.path)
        )
        together = Counter(run.cap_w for run in runs)
        for one, other in pairwise(runs):
            within = MEANS / sqrt(comb(max(together[one.cap_w], 2), 2))
            if one.cap_w == other.cap_w and (equal := _equal(one, other, within)):
                yield one.path, _found(equal, other)
                yield other.path, _found(equal, one)


def _equal(one: RunSummary, other: RunSummary, within: float) -> str:
    """What of the two is too equal, empty where nothing is."""
    estimates = zip(_estimates(one), _estimates(other), strict=True)
    if all(_means_equal(first, second, within) for first, second in estimates):
        return f"means that differ by less than {within:.2g} of their standard error from those"
    if all(_epochs_equal(one, other, column) for column in range(2)):
        return "epochs that scatter alike, within a twentieth, as those"
    return ""


def _means_equal(first: Estimate, second: Estimate, within: float) -> bool:
    if not (first.sd and second.sd):
        return False
    error = sqrt(first.sd**2 / first.n + second.sd**2 / second.n)
    return abs(first.mean - second.mean) < within * error


def _epochs_equal(one: RunSummary, other: RunSummary, column: int) -> bool:
    first, second = ([epoch[column] for epoch in run.epochs] for run in (one, other))
    if (
        len(first) != len(second)
        or len(first) < ENOUGH_EPOCHS
        or not (fmean(first) > 0 and fmean(second) > 0)
    ):
        return False
    first, second = ([value / fmean(values) - 1 for value in values] for values in (first, second))
    scatter = min(fsum(v * v for v in first), fsum(v * v for v in second))
    apart = fsum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    return scatter > 0 and apart < EPOCHS**2 * scatter


def _found(equal: str, other: RunSummary) -> Violation:
    message = "Runs scatter more than that. Make the repeats again, each as a run of its own."
    return Violation(
        RESULT,
        "/headline",
        f"{equal} of {other.name}, in throughput and power",
        "repeats that scatter",
        message,
    )
