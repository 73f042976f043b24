"""One run submitted twice

## What it does
Looks among all bundles that are checked together for two of one submission with the same run id,
and for two, of whatever submission, whose batches took the same times to the nanosecond: sequences
of 32 batches with at least eight different lengths.

It speaks of every such bundle that is not withdrawn: what was withdrawn cannot be handed in again
either.

## Why it is bad
What was measured once would count twice, and a mean over repeats would be surer of itself than it
may be. Two clocks do not agree to the nanosecond over 32 batches.

## What to do
Withdraw or remove all but one.

## Source
docs/sweep-figures.md: a mean over repeats is one over runs. Two clocks that agree to the
nanosecond are one.
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
ADVICE = "A run counts once. Withdraw or remove all but one of them."


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    named: dict[tuple[str, str], list[RunSummary]] = {}
    for digest in digests:
        named.setdefault((digest.center, digest.run_id), []).append(digest)
    for (_, run_id), runs in named.items():
        for run in runs if len(runs) > 1 else ():
            other = next((one for one in runs if one is not run), run)
            found = f"{run_id}, which is that of {other.name} too"
            yield run.path, Violation(RESULT, "/run_id", found, "an id of its own", ADVICE)
    for run, other, count in find_shared(digests, lambda d: d.windows):
        found = (
            f"{count} of {len(run.windows)} fingerprints of the batches' lengths are those of "
            f"{other.name}"
        )
        yield run.path, Violation(BATCHES, "", found, "batches that were each timed once", ADVICE)
