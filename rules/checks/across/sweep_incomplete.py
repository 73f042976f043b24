"""Runs of a sweep are missing

## What it does
Compares, for every sweep that a bundle belongs to, the number of its runs with the number of its
bundles that pass below the paths that are checked together.

The rule reports each sweep once, with the first of its bundles.

## Why it is bad
Runs that were made and not submitted may be unwelcome ones: a cap that was not kept, or a slower
repeat. It is a warning, because a run may also have failed or been refused, or only a part of a
submission was checked.

## What to do
Check the whole submission together. Submit all runs of the sweep, or finish it with `bench-submit
sweep --resume`. In an array of Slurm, submit the missing tasks again (`sbatch --array`): the run at
place N is task N - 1.

## Source
docs/sweeps.md: a sweep is planned and its plan is written before its first run.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_groups import group_by_sweep
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X104", Severity.WARNING, added="1.3.0")

MAX_LISTED = 12
"""How many missing places a finding lists."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for (_, sweep_id), members in group_by_sweep(runs).items():
        # X105 reports bundles that state different numbers.
        planned = max(label.of for _, label in members)
        present = {label.place for _, label in members}
        missing = planned - len(present)
        if missing > 0:
            # A bundle may state any number of runs: do not count through all of them.
            candidates = range(1, min(planned, len(present) + MAX_LISTED) + 1)
            listed = [place for place in candidates if place not in present][:MAX_LISTED]
            places = ", ".join(map(str, listed)) + (" …" if missing > len(listed) else "")
            observed = (
                f"{len(present)} of the {planned} runs of sweep {sweep_id}; not there: {places}"
            )
            expected = "a passing bundle of every run of the sweep"
            yield members[0][0].path, Violation(RESULT, "/sweep/of", observed, expected)
