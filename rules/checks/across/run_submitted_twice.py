"""One run was submitted twice

## What it does
Looks among all bundles that are checked together for two bundles of one submission with the same
run id, and for two bundles of any submission whose batches have equal durations to the nanosecond:
sequences of 32 batches with at least eight different durations.

The rule reports every such bundle that is not withdrawn. A withdrawn bundle must not be submitted
again either.

## Why it is bad
One measurement would count twice, and the interval of a mean over repeats would be too narrow. Two
measurements do not agree to the nanosecond over 32 batches.

## What to do
Withdraw or remove all but one of the bundles.

## Source
docs/sweeps.md: a mean over repeats is a mean over runs. Durations that agree to the nanosecond are
one measurement.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import BATCHES, RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_shared

RULE = RoundRule(
    __name__, "X103", Severity.ERROR, added="1.3.0", sees_withdrawn=True, waivable=False
)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    runs_by_id: dict[tuple[str, str], list[RunSummary]] = {}
    for run in runs:
        # Different centers may choose the same id by chance. Equal durations are compared for all
        # centers.
        runs_by_id.setdefault((run.center, run.run_id), []).append(run)
    for (_, run_id), same_id in runs_by_id.items():
        for run in same_id if len(same_id) > 1 else ():
            other = next((other for other in same_id if other is not run), run)
            observed = f"{run_id}, which is the id of {other.name} too"
            yield run.path, Violation(RESULT, "/run_id", observed, "a unique id")
    for run, other, count in find_shared(runs, lambda run: run.windows):
        observed = (
            f"{count} of {len(run.windows)} fingerprints of the durations of batches occur in "
            f"{other.name} too"
        )
        yield run.path, Violation(BATCHES, "", observed, "durations that occur once")
