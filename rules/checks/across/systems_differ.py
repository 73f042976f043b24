"""Bundles of one system describe different systems

## What it does
Compares, among the bundles in the directory of one system, and among those of one center and one
system name: driver, name, category, CPU, and of the accelerators that worked their name, memory,
firmware (VBIOS) and highest cap. The rule reports the bundles that differ from the majority (from
the last by path if there is none), with each differing field. The number of cores and the memory of
a node are ignored, because a batch system may allocate a part of a node.

Only bundles of one standing are compared with each other.

## Why it is bad
Readers compare the runs of a submission as runs of one system. Another driver or firmware changes
clocks and caps by more than a cap does.

## What to do
Make all runs of a submission with the same driver and firmware. Submit another system under a name
and in a directory of its own.

## Source
docs/design.md, section 1: a submission is all bundles of one system of one center.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X107", Severity.WARNING, added="1.3.0")


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    groups: dict[tuple[object, ...], list[RunSummary]] = {}
    # In reverse order, so that of equally frequent values the last one by path comes first.
    for run in sorted(runs, key=lambda run: run.path, reverse=True):
        for system in (run.path.parent, (run.center, dict(run.system)["name"])):
            groups.setdefault((system, run.standing), []).append(run)
    violations = (violation for group in groups.values() for violation in _compare_systems(group))
    # A bundle is in both groups, by directory and by name, and may be reported by both.
    yield from dict.fromkeys(violations)


def _compare_systems(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    if len(runs) < 2:
        return
    majority = {
        field: Counter(dict(run.system)[field] for run in runs).most_common(1)[0][0]
        for field, _ in runs[0].system
    }
    for run in runs:
        for field, value in run.system:
            if value != majority[field]:
                observed = f"{field} {_format_value(value)}"
                expected = f"{_format_value(majority[field])}, as in other bundles of this system"
                yield run.path, Violation(SYSTEM, "", observed, expected)


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
