"""Two bundles whose power goes up and down alike

## What it does
Compares where the power readings of all bundles that are checked together go up and where not,
under load, in rows of 64 differences. Each accelerator is stood for by up to 16 such patterns, the
smallest by a hash of those that it has once. It speaks of every bundle that has four of them in
common with others, and names the one with which it has most. Demos are left out.

Batches that are in phase with the sampling give the same ups and downs in every run of the work. So
patterns that agree with themselves at a lag of up to 32 samples in 85 % of the signs are left out.

## Why it is bad
Noise does not repeat. A copy that was shifted, scaled, rounded or jittered by a watt keeps most of
its ups and downs, and X102, which compares to the milliwatt, no longer knows it.

It is a warning, because only H200s have been measured: of 24 accelerators, 9 of which trained
ResNet-50 in phase with the sampling, no two have one pattern in common, of the 16 or of all (276
pairs). Copies with 1 W of jitter share four and more of 16 on 22 of the 24, those with 5 W on four
(docs/forensics.md).

## What to do
Withdraw the copy. Which of the two that is, the readings do not tell; where another center has
copied yours, tell the reviewer.

## Source
As of X102; the measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_shared

RULE = RoundRule(__name__, "X112", Severity.WARNING, added="1.3.0", sees_withdrawn=True)

SHARED = 4


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, other, count in find_shared(
        [d for d in digests if d.standing != "demo"], lambda d: d.patterns
    ):
        if count >= SHARED:
            found = (
                f"{count} of {len(run.patterns)} patterns of ups and downs are those of "
                f"others, most of {other.name}"
            )
            message = (
                "Noise does not repeat: one of the two series was copied and altered. Withdraw "
                "the copy."
            )
            yield (
                run.path,
                Violation(SAMPLES, "", found, "readings that were each taken once", message),
            )
