"""Two bundles with the same readings

## What it does
Compares fingerprints of the readings of all bundles that are checked together: sequences of 32
power readings under load, to the milliwatt, and of 32 delays, to the nanosecond, from when a
reading was due to when it was made; each with at least eight different values. It does not matter
when they were taken, on which accelerator, or under what name the runs stand. Each series is stood
for by its 16 smallest fingerprints, so a copy of a tenth of a run is mostly found, and one of half
of it always.

It speaks of every bundle that has such readings, but for withdrawn ones: which of them is the copy,
the readings do not tell.

## Why it is bad
Noise does not repeat. One of the runs was not made, or not so.

## What to do
Withdraw the copy. A bundle that was accepted before the other one came is not refused for it: there
this is a note. Where neither was, and another center has copied yours, tell the reviewer, who can
waive this for the one that was measured.

## Source
None: with eight different values among 32 readings a repetition by chance is out of the question.
Keeping the smallest of the fingerprints follows Broder, On the Resemblance and Containment of
Documents, 1997.
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
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, other, count in find_shared(digests, lambda d: d.readings):
        yield (
            run.path,
            Violation(
                SAMPLES,
                "",
                f"{count} of {len(run.readings)} fingerprints of the power readings are "
                f"those of {other.name}",
                "readings that were each taken once",
                "Noise does not repeat to the milliwatt: one of the two series was copied. "
                "Withdraw the copy.",
            ),
        )
    for run, other, count in find_shared(digests, lambda d: d.delays):
        found = (
            f"{count} of {len(run.delays)} fingerprints of the delays of readings are those of "
            f"{other.name}"
        )
        message = (
            "No two samplers are late alike to the nanosecond: one of the two series was "
            "copied. Withdraw the copy."
        )
        yield run.path, Violation(SAMPLES, "", found, "readings that were each taken once", message)
