"""Repeats are too similar

## What it does
Compares runs of a center with equal settings and cap, in any directory, by two figures, both per
accelerator: items/s and mean power. The rule reports two runs if for *both* figures

- the difference of the means is less than 0.01 of its standard error, computed from the scatter of
  the epochs; with n such runs, and therefore n (n - 1) / 2 pairs, less than 0.01 divided by the
  square root of the number of pairs; or
- the series of the scored epochs, each divided by its mean, differ from epoch to epoch by less than
  0.05 of the deviation of an epoch from the mean (root mean squares, at least eight epochs).

Runs are compared with their neighbours in the order of throughput. The rule reports both runs.

## Why it is bad
Epochs scatter, and runs scatter more. By chance, 0.006 % of the pairs meet the first criterion if
the two figures are independent, and 0.02 % if they are correlated as in the measured bundles (0.95
from epoch to epoch). Fewer do if runs scatter more than their epochs suggest, which is the case. J
per item would not be independent evidence: it follows the throughput, with correlations down to
-1.00.

Epochs that meet the second criterion were copied and disturbed with noise: ten independent epochs
would meet it in one of 10^12 pairs. On the measured bundles, the part of an epoch's deviation that
is not a smooth drift is 17 to 99 % of the whole in throughput and 55 to 98 % in power, so the drift
of a board that warms up does not meet it either. It is a warning, because all of this is
statistics.

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
from rules.run_groups import group_by_comparison_key
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X109", Severity.WARNING, added="1.3.0")

MAX_ERROR_SHARE = 0.01
"""Difference of two means below which they are too similar, as a share of its standard error."""
MAX_EPOCH_SHARE = 0.05
"""Difference of two series of epochs below which they are too similar, as a share of their
scatter."""
MIN_EPOCHS = 8
FIGURES = 2
"""The number of figures that are compared: items/s and mean power."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        group.sort(
            key=lambda run: (run.cap_w, run.headline.items_per_s_per_accelerator.mean, run.path)
        )
        repeats = Counter(run.cap_w for run in group)
        # In the order of throughput, the most similar pairs are neighbours, so comparing all pairs
        # is not needed.
        for first, second in pairwise(group):
            pairs = comb(max(repeats[first.cap_w], 2), 2)
            # More pairs give more chances. Both figures must agree, so the chance of a pair grows
            # with the square of the share.
            max_share = MAX_ERROR_SHARE / sqrt(pairs)
            if first.cap_w == second.cap_w and (similarity := _compare(first, second, max_share)):
                yield first.path, _violate(similarity, second)
                yield second.path, _violate(similarity, first)


def _compare(first: RunSummary, second: RunSummary, max_share: float) -> str:
    """In what the two runs are too similar; empty if they are not."""
    estimates = zip(_estimates(first), _estimates(second), strict=True)
    if all(_are_means_similar(a, b, max_share) for a, b in estimates):
        return f"means that differ by less than {max_share:.2g} of the standard error from those"
    if all(_are_epochs_similar(first, second, figure) for figure in range(FIGURES)):
        return f"epochs that scatter like those, within {MAX_EPOCH_SHARE:.0%},"
    return ""


def _estimates(run: RunSummary) -> tuple[Estimate, Estimate]:
    """The compared figures; `RunSummary.epochs` has the same two for each epoch."""
    headline = run.headline
    return headline.items_per_s_per_accelerator, headline.mean_power_w_per_accelerator


def _are_means_similar(first: Estimate, second: Estimate, max_share: float) -> bool:
    # Without scatter there is no standard error to compare with.
    if not (first.sd and second.sd):
        return False
    standard_error = sqrt(first.sd**2 / first.n + second.sd**2 / second.n)
    return abs(first.mean - second.mean) < max_share * standard_error


def _are_epochs_similar(first: RunSummary, second: RunSummary, figure: int) -> bool:
    first_values, second_values = ([e[figure] for e in run.epochs] for run in (first, second))
    if (
        len(first_values) != len(second_values)
        or len(first_values) < MIN_EPOCHS
        or not (fmean(first_values) > 0 and fmean(second_values) > 0)
    ):
        return False
    first_deviations, second_deviations = (
        # Relative to the mean, so that a copy that was scaled as a whole is found too.
        [value / fmean(values) - 1 for value in values]
        for values in (first_values, second_values)
    )
    # The smaller scatter is the stricter reference: a noisy run must not hide the similarity.
    scatter = min(fsum(d * d for d in first_deviations), fsum(d * d for d in second_deviations))
    difference = fsum(
        (a - b) ** 2 for a, b in zip(first_deviations, second_deviations, strict=True)
    )
    return scatter > 0 and difference < MAX_EPOCH_SHARE**2 * scatter


def _violate(similarity: str, other: RunSummary) -> Violation:
    return Violation(
        RESULT,
        "/headline",
        f"{similarity} of {other.name}, in throughput and power",
        "repeats that scatter",
    )
