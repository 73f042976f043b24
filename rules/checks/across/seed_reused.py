"""One seed for several repeats

## What it does
Looks for runs of a center that are alike, at one cap, on systems that are described alike, and have
one seed. It speaks of all but the last by path.

## Why it is bad
A repeat is to show what changes from run to run. With one seed, inputs and weights are the same in
both, and what depends on them does not show. It is a note: throughput and power hardly depend on
the seed, and no version of the protocol so far asks for different ones.

## What to do
Give each repeat a seed of its own (`--seed`).

## Source
Protocol, section "input": generated from a recorded seed. It does not say that seeds differ.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X110", Severity.NOTE, added="1.3.0")


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_comparison_key(digests):
        last: dict[tuple[object, ...], RunSummary] = {}
        for run in sorted(runs, key=lambda r: r.path, reverse=True):
            other = last.setdefault((run.cap_w, run.seed, run.system), run)
            if other is not run:
                found = f"{run.seed}, as in {other.name}, a repeat of it"
                message = "What depends on the seed does not show. Give each repeat one of its own."
                yield (
                    run.path,
                    Violation(
                        RESULT, "/settings/seed", found, "another seed in every repeat", message
                    ),
                )
