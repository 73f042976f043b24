"""Patterns of rising and falling power repeat within a run

## What it does
Computes, for the instantaneous readings of each H200 under load, the signs of the differences
(rising or not) in sequences of 64. The rule counts the sequences that occur twice: at two times at
least 20 s apart, or on two accelerators. It reports a run with 16 of them. Patterns that agree with
themselves at a lag of up to 32 samples in 85 % of the signs are skipped, because batches in phase
with the sampling give them. Other boards are skipped, because none has been measured.

## Why it is bad
Readings of one epoch or board were copied to another, perhaps with added noise. Real noise does not
repeat.

It is a note. In the measured runs at most two such patterns occur twice, and no two boards share
one, even if four boards of a run work in step. But a workload with a period of more than 32 samples
may repeat a pattern on a board with little noise.

## What to do
Submit the values that the meter read.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.series import SIGNS, repeat_themselves
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W124", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)

MIN_PATTERNS = 16
"""Number of repeated patterns from which the rule reports a run; measured runs have at most two."""
MIN_DISTANCE_SAMPLES = 200
"""Patterns of one accelerator that are nearer to each other may come from the workload."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    count, accelerators = find_repeated_patterns(bundle)
    if count >= MIN_PATTERNS:
        yield Violation(
            SAMPLES,
            "",
            f"{count} patterns of {SIGNS} rises and falls occur twice, on "
            f"{', '.join(sorted(accelerators))}",
            "patterns that occur once",
        )


def find_repeated_patterns(bundle: Bundle) -> tuple[int, set[str]]:
    """How many patterns occur twice, and on which accelerators."""
    measured = list(bundle.measured_series)
    if not measured:
        return 0, set()
    patterns_by_series = [series.patterns for series in measured]
    patterns = np.concatenate(patterns_by_series)
    ordered = np.sort(patterns)
    repeated = ordered[1:][np.diff(ordered) == 0]
    repeated = repeated[np.diff(repeated, prepend=~repeated[:1]) != 0]
    # This test is expensive, so it runs on the few repeated patterns only.
    repeated = repeated[~repeat_themselves(repeated)]
    if not len(repeated):
        return 0, set()
    # Positions and series of the repeated patterns alone: they are few of many thousands.
    is_repeated = np.isin(patterns, repeated)
    positions = np.concatenate([np.arange(len(p)) for p in patterns_by_series])[is_repeated]
    owners = np.repeat(np.arange(len(measured)), list(map(len, patterns_by_series)))[is_repeated]
    patterns = patterns[is_repeated]
    order = np.lexsort((positions, owners, patterns))
    positions, patterns, owners = positions[order], patterns[order], owners[order]
    # Sorted by pattern, series and position, equal patterns are neighbours.
    distant = (owners[1:] != owners[:-1]) | (positions[1:] - positions[:-1] >= MIN_DISTANCE_SAMPLES)
    again = (patterns[1:] == patterns[:-1]) & distant
    sharing = {*owners[:-1][again].tolist(), *owners[1:][again].tolist()}
    return int(again.sum()), {measured[owner].accelerator for owner in sharing}
