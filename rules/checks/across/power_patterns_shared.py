"""Two bundles share patterns of rising and falling power

## What it does
Computes, for the power readings under load of all bundles that are checked together, the signs of
the differences (rising or not) in sequences of 64. Each accelerator is represented by up to 16 such
patterns: of those that it has once, the ones with the smallest hashes. The rule reports every
bundle that shares four of them with others, and names the bundle with which it shares most. Demos
are skipped.

Batches in phase with the sampling give the same patterns in every run of the workload. Patterns
that agree with themselves at a lag of up to 32 samples in 85 % of the signs are therefore skipped.

## Why it is bad
Noise does not repeat. A copy that was shifted, scaled, rounded or disturbed by a watt keeps most of
its rises and falls, and X102, which compares to the milliwatt, does not recognise it.

It is a warning, because only H200s have been measured: of 24 accelerators, 9 of which trained
ResNet-50 in phase with the sampling, no two share a pattern, of the 16 or of all (276 pairs).
Copies with 1 W of noise share four or more of 16 on 22 of the 24, those with 5 W on four
(docs/forensics.md).

## What to do
Withdraw the copy. The readings do not show which of the two is the copy: if another center copied
your run, tell the reviewer.

## Source
As of X102; the measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_shared

RULE = RoundRule(
    __name__, "X112", Severity.WARNING, added="1.3.0", sees_withdrawn=True, bars_winning=True
)

SHARED = 4
"""Number of shared patterns from which the rule reports a bundle; measured boards share none."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    # Demos are never compared, and their readings need not come from a sensor.
    measured = [run for run in runs if run.standing != "demo"]
    for run, other, count in find_shared(measured, lambda run: run.patterns):
        if count >= SHARED:
            observed = (
                f"{count} of {len(run.patterns)} patterns of rises and falls occur in other "
                f"bundles, most in {other.name}"
            )
            yield run.path, Violation(SAMPLES, "", observed, "patterns that occur once")
