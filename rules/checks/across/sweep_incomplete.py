"""Runs of a sweep that are not there

## What it does
Compares, for every sweep that a bundle says to be of, how many runs it has with how many bundles of
it pass below the paths that are checked together.

It speaks once a sweep, of the first of its bundles.

## Why it is bad
Runs that were made and not handed in may be those that one did not like: a cap that was not kept, a
repeat that was slower. It is a warning, because a run may also have failed or been refused, or only
a part of a submission been checked.

## What to do
Check the whole submission at once. Hand in all runs of the sweep, also the bad ones; finish it with
`bench-submit sweep --resume`.

## Source
docs/sweep-figures.md: a sweep is planned and written down before its first run.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_sweep

RULE = RoundRule(__name__, "X104", Severity.WARNING, added="1.3.0")

LISTED = 12


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for sweep, runs in group_by_sweep(digests).items():
        of = max(label["of"] for _, label in runs)
        there = {label["place"] for _, label in runs}
        missing = of - len(there)
        if missing > 0:
            first = [
                place for place in range(1, min(of, len(there) + LISTED) + 1) if place not in there
            ][:LISTED]
            yield (
                runs[0][0].path,
                Violation(
                    RESULT,
                    "/sweep/of",
                    f"{len(there)} of the {of} runs of sweep {sweep[1]}; not there: "
                    f"{', '.join(map(str, first))}" + (" …" if missing > len(first) else ""),
                    "a passing bundle of every run of the sweep",
                    "Runs of the sweep are missing or were refused. Hand in all of them, "
                    "or finish the sweep.",
                ),
            )
