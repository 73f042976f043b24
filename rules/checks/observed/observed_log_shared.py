"""One power log was submitted for two jobs

## What it does
Compares the readings of all observed jobs that are checked together: sequences of 32 power readings
of a feed in the window of the job, with at least eight different values, forwards or backwards.
Times and names are ignored. The rule reports the later of two bundles, or warns of both, as X102
does. A withdrawn bundle must not be submitted again either.

## Why it is bad
Noise does not repeat. The energy of one job would count twice, or stand for another job.

## What to do
Withdraw the copy, or give the log of its own job.

## Source
Own derivation, as for N116.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.observation_records import POWER_FILE
from rules.copies.search import choose_severity, find_repeats
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import ObservationRoundRule
from rules.summaries.observation_summary import ObservationSummary

RULE = ObservationRoundRule(
    __name__, "O104", Severity.ERROR, added="1.13.0", sees_withdrawn=True, waivable=False
)


@RULE.check
def check(jobs: Sequence[ObservationSummary]) -> Iterator[tuple[Path, Violation]]:
    for repeat in find_repeats(jobs, lambda job: job.readings):
        found = (
            f"{repeat.share:.0%} of the sequences of {IN_A_ROW} readings occur in "
            f"{repeat.other.name}"
        )
        severity = choose_severity(repeat.run, repeat.other)
        expected = "readings that occur once"
        yield repeat.run.path, Violation(POWER_FILE, "", found, expected, severity=severity)
