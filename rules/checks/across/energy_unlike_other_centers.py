"""Energy unlike that of other centers

## What it does
Compares J per item of closed runs with those of other centers: same boards and number of them,
workload, variant, precision and cap, on boards that kept to it. It speaks of a run that is more
than 10 % from the median of the other centers (of each the mean of its runs), and names a run of
the nearest to that median. With two centers it speaks of both.

## Why it is bad
It need not be: cooling, batch and software differ. But one board under one cap does one work at
much the same energy, and a run far from what others measure deserves a look at how it came about.
So it is a note.

## What to do
Compare batch, driver, packages and clocks of the two runs.

## Source
Between two boards of the reference bundles J per item of one work and cap differs by 2.2 % at most;
the limit leaves room for batch and software.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X114", Severity.NOTE, added="1.3.0")

APART = 0.1


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    settings: dict[tuple[object, ...], dict[str, list[RunSummary]]] = {}
    for run in digests:
        if (
            run.standing == "closed"
            and run.held
            and run.cap_w is not None
            and run.headline.joules_per_item is not None
        ):
            settings.setdefault((run.setting, run.cap_w), {}).setdefault(run.center, []).append(run)
    for by_center in settings.values():
        if len(by_center) > 1:
            yield from _apart(by_center)


def _apart(by_center: dict[str, list[RunSummary]]) -> Iterator[tuple[Path, Violation]]:
    means = sorted((fmean(map(_energy_j, runs)), center) for center, runs in by_center.items())
    for place, (_, center) in enumerate(means):
        middle_j, nearest = _median_without(means, place)
        for run in by_center[center]:
            if abs(_energy_j(run) - middle_j) > APART * middle_j:
                other = by_center[nearest][0]
                found = (
                    f"{_energy_j(run):.4g} J per item, and {_energy_j(other):.4g} in {other.name}"
                )
                expected = f"within {APART:.0%} of the {middle_j:.4g} J of other centers"
                message = (
                    "Nothing need be wrong. Compare batch, driver, packages and clocks of the "
                    "two runs."
                )
                yield (
                    run.path,
                    Violation(RESULT, "/headline/joules_per_item", found, expected, message),
                )


def _energy_j(run: RunSummary) -> float:
    estimate = run.headline.joules_per_item
    assert estimate is not None  # `across` leaves the other runs out
    return estimate.mean


def _median_without(means: Sequence[tuple[float, str]], place: int) -> tuple[float, str]:
    """The median of the others of some sorted means, and whose is one in the middle."""
    low, high = ((len(means) - 2) // 2, (len(means) - 1) // 2)
    (low_j, center), (high_j, _) = (means[at + (at >= place)] for at in (low, high))
    return (low_j + high_j) / 2, center
