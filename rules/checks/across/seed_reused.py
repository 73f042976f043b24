"""Several repeats use one seed

## What it does
Looks for runs of a center with equal settings, cap, description of the system and seed. The rule
reports all but the last by path.

## Why it is bad
A repeat is meant to show the variation between runs. With one seed, inputs and weights are equal in
both, and effects that depend on them stay hidden. It is a note: throughput and power hardly depend
on the seed, and no version of the protocol so far requires different seeds.

## What to do
Give each repeat a seed of its own (`--seed`).

## Source
Protocol, section "input": generated from a recorded seed. The section does not require different
seeds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X110", Severity.NOTE, added="1.3.0")


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        last_runs: dict[tuple[object, ...], RunSummary] = {}
        for run in sorted(group, key=lambda run: run.path, reverse=True):
            last = last_runs.setdefault((run.cap_w, run.seed, run.system), run)
            if last is not run:
                observed = f"{run.seed}, as in its repeat {last.name}"
                expected = "another seed in every repeat"
                yield run.path, Violation(RESULT, "/settings/seed", observed, expected)
