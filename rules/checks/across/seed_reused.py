"""Several repeats use one seed

## What it does
Looks for runs of one center with the same settings, cap, system description and seed. In each group
of such runs, the rule reports all runs except the last one by path. Reproductions are left out,
because they repeat a run with its seed on purpose.

## Why it is bad
Repeats show the variation between runs. Runs with the same seed have the same inputs and initial
weights, so the repeats do not show effects that depend on them.

The finding is only a note. Throughput and power hardly depend on the seed, and no version of the
protocol requires different seeds.

## What to do
Give each repeat its own seed with `--seed`.

## Source
Protocol, section "input": inputs are generated from a recorded seed. The section does not require
different seeds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_groups import group_by_comparison_key
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X110", Severity.NOTE, added="1.3.0")


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        last_runs: dict[tuple[object, ...], RunSummary] = {}
        repeats = [run for run in group if run.reproduces is None]
        # In reverse order, so that the last bundle by path keeps its seed and the verdicts do not
        # depend on the file system.
        for run in sorted(repeats, key=lambda run: run.path, reverse=True):
            last = last_runs.setdefault((run.cap_w, run.seed, run.system), run)
            if last is not run:
                observed = f"{run.seed}, as in its repeat {last.name}"
                expected = "another seed in every repeat"
                yield run.path, Violation(RESULT, "/settings/seed", observed, expected)
