"""Readings of another bundle

## What it does
Compares the samples of all bundles that are checked together: sequences of 32 power readings under
load to the milliwatt, of 32 delays between the scheduled and the actual time of a reading to the
nanosecond, of 32 steps of the energy counter to the millijoule, of 32 SM clocks under load, and of
32 readings of the power of the memory under load, each with at least eight different values,
forwards or backwards. Time, accelerator and names of the runs are ignored.

One of 32 sequences is compared. A salt that is drawn for each check decides which, so nobody can
know beforehand which values to alter. A copy that shares n sequences is missed with a probability
of (31/32)^n: 1 in 1 000 for 218 sequences, a 14th of a run, and 1 in 10^12 for 870.

The rule reports the later of two bundles. Bundles whose hash the LOG has, by a commitment
(`bench-check commit`) or an acceptance, come before all others, in the order of its lines. Of two
bundles of one center, the run that ended first comes first. If they are of two centers and the LOG
has neither hash, nobody knows which is the copy: the rule warns of both, neither wins a comparison,
and whoever runs the round accepts one or withdraws the other. It never reports withdrawn bundles,
and compares others with them, except those that whoever runs the round has withdrawn with those of
another center.

## Why it is bad
Noise does not repeat. One of the runs was not made, or not as stated.

## What to do
Withdraw the copy. If another center copied your run, tell whoever runs the round. A commitment
before the pull request protects against that ([trust](../trust.md#commitments)).

## Source
Own derivation: with eight different values among 32 readings, a repetition by chance can be
excluded. No two of the 26 measured accelerators share any of all sequences (325 pairs), and no two
of 76 measured runs share any sequence of clocks or of the power of the memory. Choosing by hashes
follows Broder, On the Resemblance and Containment of Documents, 1997.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.copies.search import choose_severity, find_repeats
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__,
    "X102",
    Severity.ERROR,
    added="1.3.0",
    sees_withdrawn=True,
    waivable=False,
    bars_winning=True,
    review_lifts_bar=False,
)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    # Power may have been altered in a copy. The other columns remain if nobody thought of them.
    for name, sequences_of in (
        ("power readings", lambda run: run.fingerprints.readings),
        ("delays of readings", lambda run: run.fingerprints.delays),
        ("steps of the energy counter", lambda run: run.fingerprints.counter),
        ("SM clocks", lambda run: run.fingerprints.clocks),
        ("readings of the power of the memory", lambda run: run.fingerprints.memory_power),
    ):
        for repeat in find_repeats(runs, sequences_of):
            observed = f"{repeat.share:.0%} of the sequences of {IN_A_ROW} {name} occur in "
            yield (
                repeat.run.path,
                Violation(
                    SAMPLES,
                    "",
                    observed + repeat.other.name,
                    "readings that occur once",
                    severity=choose_severity(repeat.run, repeat.other),
                ),
            )
