"""One run was submitted twice

## What it does
Looks among all bundles that are checked together for two bundles of one submission with the same
run id, and for two bundles of any submission whose batches have equal durations to the nanosecond:
sequences of 32 batches with at least eight different durations. One of 32 sequences is compared,
chosen as by X102.

The rule reports the later of two bundles, or warns of both, as X102 does. A withdrawn bundle must
not be submitted again either.

## Why it is bad
One measurement would count twice, and the interval of a mean over repeats would be too narrow. Two
measurements do not agree to the nanosecond over 32 batches.

## What to do
Withdraw or remove all but one of the bundles.

## Source
docs/sweeps.md: a mean over repeats is a mean over runs. Durations that agree to the nanosecond are
one measurement: no two measured runs share any sequence.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import BATCHES, RESULT
from rules.copies.search import choose_severity, find_repeats, order_runs
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__,
    "X103",
    Severity.ERROR,
    added="1.3.0",
    sees_withdrawn=True,
    waivable=False,
    bars_winning=True,
    review_lifts_bar=False,
)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    first_runs: dict[tuple[str, str], RunSummary] = {}
    for run in order_runs(runs):
        # Different centers may choose the same id by chance. Equal durations are compared for all
        # centers.
        first = first_runs.setdefault((run.center, run.run_id), run)
        if first is not run:
            observed = f"{run.run_id}, which is the id of {first.name} too"
            yield run.path, Violation(RESULT, "/run_id", observed, "a unique id")
    for repeat in find_repeats(runs, lambda run: run.fingerprints.durations):
        observed = (
            f"{repeat.share:.0%} of the sequences of {IN_A_ROW} durations of batches occur in "
            f"{repeat.other.name}"
        )
        severity = choose_severity(repeat.run, repeat.other)
        expected = "durations that occur once"
        yield repeat.run.path, Violation(BATCHES, "", observed, expected, severity=severity)
