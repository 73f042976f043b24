"""One accelerator in two runs at a time

## What it does
Looks among all bundles that are checked together, of all centers, for two runs that overlap in time
by more than five seconds, by `started_at` and `ended_at`, and have an accelerator in common, by its
UUID. Demos are left out: simulated boards share their names.

It speaks of both, but not of one that is withdrawn.

## Why it is bad
One board cannot be in two places, and two runs side by side on one board measure neither: the
energy of each is counted in the other. Either a foreign process was missed, or a UUID or a date is
not that of the run.

## What to do
Run again, one run at a time. Where the clock of a node was wrong, say so to the reviewer, who can
waive this.

## Source
Protocol, section "invalid": foreign processes on the accelerator.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__, "X108", Severity.ERROR, added="1.3.0", sees_withdrawn=True, waivable=False
)
TOLERANCE_S = 5.0


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    on: dict[str, list[RunSummary]] = {}
    for digest in digests:
        for board in (
            digest.boards if digest.standing != "demo" and digest.from_s <= digest.until_s else ()
        ):
            on.setdefault(board, []).append(digest)
    met: dict[Path, tuple[str, RunSummary, RunSummary]] = {}
    for board, runs in on.items():
        runs.sort(key=lambda run: (run.from_s, run.path))
        latest = runs[0]
        for run in runs[1:]:
            if min(latest.until_s, run.until_s) - run.from_s > TOLERANCE_S:
                met.setdefault(run.path, (board, run, latest))
                met.setdefault(latest.path, (board, latest, run))
            latest = max(latest, run, key=lambda one: one.until_s)
    for path, (board, run, other) in met.items():
        together_s = min(run.until_s, other.until_s) - max(run.from_s, other.from_s)
        yield (
            path,
            Violation(
                RESULT,
                "/started_at",
                f"{board} is in {other.name} too, for {together_s:.0f} s at the same time",
                "one run at a time on an accelerator",
                "One board cannot do both. Run again, with nothing else on the board.",
            ),
        )
