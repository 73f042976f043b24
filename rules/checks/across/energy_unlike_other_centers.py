"""The energy per item differs from that of other centers

## What it does
Compares J per item of closed runs with those of other centers: same boards and number of boards,
workload, variant, precision and cap, on boards that kept the cap. The rule reports a run that
differs by more than 10 % from the median of the other centers (each with the mean of its runs), and
names a run of the center next to that median. With two centers it reports the runs of both.

## Why it is bad
A difference need not be an error: cooling, batch and software differ. But one board under one cap
needs about the same energy for one workload, and a large difference deserves an explanation. It is
therefore a note.

## What to do
Compare batch, driver, packages and clocks of the two runs. Nothing need be wrong.

## Source
Between two boards of the reference bundles J per item of one workload and cap differs by 2.2 % at
most; the limit leaves room for batch and software.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X114", Severity.NOTE, added="1.3.0")

MAX_DIFFERENCE = 0.1
"""Largest usual difference from the median of other centers, as a share; reference boards differ by
0.022 at most."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    centers_by_setting: dict[tuple[object, ...], dict[str, list[RunSummary]]] = {}
    for run in runs:
        if (
            # Open runs may use other software and another input.
            run.standing == "closed"
            # A board that exceeds its cap has the energy of another cap.
            and run.held
            and run.cap_w is not None
            and run.headline.joules_per_item is not None
        ):
            centers = centers_by_setting.setdefault((run.setting, run.cap_w), {})
            centers.setdefault(run.center, []).append(run)
    for centers in centers_by_setting.values():
        if len(centers) > 1:
            yield from _compare_centers(centers)


def _compare_centers(centers: dict[str, list[RunSummary]]) -> Iterator[tuple[Path, Violation]]:
    # One mean per center, so that a center with many bundles does not outvote the others.
    means = sorted((fmean(map(_joules_per_item, runs)), center) for center, runs in centers.items())
    for i, (_, center) in enumerate(means):
        # Without the own center, because the runs of a center must not vouch for each other.
        median_j, middle_center = _median_of_others(means, i)
        for run in centers[center]:
            joules = _joules_per_item(run)
            if abs(joules - median_j) > MAX_DIFFERENCE * median_j:
                other = centers[middle_center][0]
                observed = (
                    f"{joules:.4g} J per item, and {_joules_per_item(other):.4g} in {other.name}"
                )
                expected = (
                    f"within {MAX_DIFFERENCE:.0%} of {median_j:.4g} J, the median of other centers"
                )
                yield run.path, Violation(RESULT, "/headline/joules_per_item", observed, expected)


def _joules_per_item(run: RunSummary) -> float:
    estimate = run.headline.joules_per_item
    assert estimate is not None  # `check` skips the other runs
    return estimate.mean


def _median_of_others(means: Sequence[tuple[float, str]], skipped: int) -> tuple[float, str]:
    """The median of sorted means without the one at index `skipped`, and the center of a mean in
    the middle."""
    low, high = (len(means) - 2) // 2, (len(means) - 1) // 2
    (low_j, center), (high_j, _) = (means[i + (i >= skipped)] for i in (low, high))
    return (low_j + high_j) / 2, center
