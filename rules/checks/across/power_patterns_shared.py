"""The noise of another bundle

## What it does
Compares the noise of all bundles that are checked together: the differences between successive
power readings under load, and those between the durations of successive batches. A filter flattens
their spectrum first. It removes the beat of batches in step with the sampling, which all runs of a
workload share. Two runs are aligned where patterns of 32 rises and falls agree, at the eight
alignments with most of them. In small rounds, and among few runs of one setting (up to 10 000 pairs
of accelerators), they are also aligned where the correlation of the whole series is largest,
forwards and backwards. The rule reports a run

- in which the noise of 1 000 readings has a correlation of 0.4 or more, or of -0.4 or less, with
  that of another run,
- in which the noise of 256 batches has one of 0.6 or more, or of -0.6 or less, or
- that shares 32 patterns of 64 rises and falls with another run, at the alignments that are tried.

Large steps, such as those between epochs, are limited to six times the median step. Patterns are
those before the filter. Patterns that agree with themselves at a lag of up to 32 samples in 85 % of
the signs are skipped: batches in phase with the sampling give the same patterns in every run of the
workload. Of the others one in eight decides on alignments, chosen under a salt that is drawn for
each check, or all if a series has fewer than 512. Demos are skipped. Of serving and of control runs
the durations are skipped: the products of a control run go round the memory alike on all boards,
and two honest ones had a correlation of 0.65. Of two bundles, the rule reports the same one as
X102.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
Noise does not repeat. A copy that was shifted, scaled, rounded or disturbed by some watts keeps
most of its noise, and X102, which compares to the milliwatt, does not recognise it.

It is a warning, because only H100s and H200s have been measured. When the limits were set, these
were 88 accelerators in 71 runs, many of which trained ResNet-50 in phase with the sampling. Between
two runs, no 1 000 readings had a correlation above 0.22, no 256 batches one above 0.37, and no two
accelerators shared a pattern (3 796 pairs). Without the filter, two runs of two H100s had a
correlation of 0.78. Copies with up to 2 W of jitter were found on at least 83 of 84 accelerators,
in a small round and in a large one; with 20 W on all in a small round, and on 53 in a large one.

## What to do
Withdraw the copy. If the LOG lists neither bundle and another center copied your run, tell the
reviewer.

## Source
As of X102; the measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import BATCHES, SAMPLES
from rules.copies.noise import LeastLikeness, NoiseOf, find_copied_noise
from rules.finding import Severity, Violation
from rules.metrics.power.series import ENOUGH
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__, "X112", Severity.WARNING, added="1.3.0", sees_withdrawn=True, bars_winning=True
)

LEAST = {
    "power readings": LeastLikeness(ENOUGH, 0.4),
    "durations of batches": LeastLikeness(256, 0.6),
}
"""From which correlation on the noise of a table is that of another run."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    # Demos are never compared, and their readings need not come from a sensor.
    measured = [run for run in runs if run.standing != "demo"]
    yield from _compare(
        measured, SAMPLES, "power readings", lambda run: run.fingerprints.power_noise
    )
    yield from _compare(
        measured, BATCHES, "durations of batches", lambda run: run.fingerprints.duration_noise
    )


def _compare(
    runs: Sequence[RunSummary], table: str, name: str, noise_of: NoiseOf
) -> Iterator[tuple[Path, Violation]]:
    least = LEAST[name]
    for likeness in find_copied_noise(runs, noise_of, least):
        observed = (
            f"the noise of {least.length} {name} has a correlation of {likeness.correlation:.2f} "
            f"with that of {likeness.other.name}"
            if likeness.correlation >= least.correlation
            else f"{likeness.patterns} patterns of rises and falls of {name} occur in "
            f"{likeness.other.name}"
        )
        yield likeness.run.path, Violation(table, "", observed, "noise that occurs once")
