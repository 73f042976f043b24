"""Two bundles share readings

## What it does
Compares fingerprints of the readings of all bundles that are checked together: sequences of 32
power readings under load, to the milliwatt, and of 32 delays between the scheduled and the actual
time of a reading, to the nanosecond, each with at least eight different values. Time, accelerator
and names of the runs are ignored. Each series is represented by its 16 smallest fingerprints, so
that a copy of a tenth of a run is usually found, and a copy of half a run always.

The rule reports every bundle that shares readings, except withdrawn ones. The readings do not show
which bundle is the copy.

## Why it is bad
Noise does not repeat. One of the runs was not made, or not as stated.

## What to do
Withdraw the copy. A bundle that was accepted before the other one is not refused: for it the
finding is a note. If neither was accepted and another center copied your run, tell the reviewer.

## Source
Own derivation: with eight different values among 32 readings, a repetition by chance can be
excluded. Keeping the smallest of the fingerprints follows Broder, On the Resemblance and
Containment of Documents, 1997.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_shared

RULE = RoundRule(
    __name__, "X102", Severity.ERROR, added="1.3.0", sees_withdrawn=True, waivable=False
)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, other, count in find_shared(runs, lambda run: run.readings):
        observed = f"{count} of {len(run.readings)} fingerprints of power readings"
        yield run.path, _violate(observed, other)
    # Power may have been altered in a copy. The delays of the sampler remain if nobody thought of
    # them.
    for run, other, count in find_shared(runs, lambda run: run.delays):
        observed = f"{count} of {len(run.delays)} fingerprints of delays of readings"
        yield run.path, _violate(observed, other)


def _violate(observed: str, other: RunSummary) -> Violation:
    return Violation(
        SAMPLES, "", f"{observed} occur in {other.name} too", "readings that occur once"
    )
