"""Node readings of another bundle

## What it does
Compares the readings of node meters of all bundles that are checked together: sequences of 32 power
readings of a feed to the milliwatt, with at least eight different values, forwards or backwards.
Times and names are ignored. Meters that cover nodes outside the run are left out: they may be in
several bundles. Bundles that another rule refuses are left out, as by all rules across bundles:
what they state proves nothing about others. A copy is reported once it has no other error.

The rule reports the later of two bundles, by the same order as X102.

## Why it is bad
Noise does not repeat. One of the measurements was not made, or not as stated.

## What to do
Withdraw the copy, or attach the log of its own run.

## Source
Own derivation, as for X102. Meters that show whole watts repeat few sequences of 32 with eight
different values. It comes from no measured run: no two real node logs of one system are committed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.copies.search import find_repeats
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__,
    "N116",
    Severity.ERROR,
    since="1.1",
    added="1.6.0",
    sees_withdrawn=True,
    waivable=False,
)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for repeat in find_repeats(runs, lambda run: run.node_sequences):
        found = f"{repeat.share:.0%} of the sequences of {IN_A_ROW} node readings occur in "
        yield (
            repeat.run.path,
            Violation(NODE_SAMPLES_FILE, "", found + repeat.other.name, "readings that occur once"),
        )
