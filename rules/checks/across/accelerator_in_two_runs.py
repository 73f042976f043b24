"""One accelerator in two simultaneous runs

## What it does
Looks among all bundles that are checked together, of all centers, for two runs that overlap in time
by more than five seconds, by `started_at` and `ended_at`, and that use the same accelerator, by
UUID. Demos are skipped, because simulated boards share their names.

The rule reports both runs, except withdrawn ones. If they are of two centers, a rival may have
stated your board and your time. So it reports the later one by the LOG, as X102 does, and warns of
both if the LOG has neither.

## Why it is bad
Two simultaneous runs on one board disturb each other: the energy of each counts in the other.
Either a foreign process was not detected, or a UUID or a date does not belong to the run.

## What to do
Run again, one run at a time. If the clock of a node was wrong, tell the reviewer.

## Source
Protocol, section "invalid": foreign processes on the accelerator.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.copies.search import choose_severity, list_copies, order_runs
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__,
    "X108",
    Severity.ERROR,
    added="1.3.0",
    sees_withdrawn=True,
    waivable=False,
    bars_winning=True,
    review_lifts_bar=False,
)

TOLERANCE_S = 5.0
"""Overlap that clocks and rounded dates may cause."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    runs_by_board: dict[str, list[RunSummary]] = {}
    for run in runs:
        # Dates that do not exist are NaN and compare as false. P113 reports them.
        if run.standing != "demo" and run.from_s <= run.until_s:
            for board in run.boards:
                runs_by_board.setdefault(board, []).append(run)
    overlaps: dict[tuple[Path, Severity | None], tuple[str, RunSummary, RunSummary]] = {}
    for board, board_runs in runs_by_board.items():
        board_runs.sort(key=lambda run: (run.from_s, run.path))
        # Sorted by start, a run can overlap only if it begins before the latest end so far. One
        # pass is enough.
        latest = board_runs[0]
        for run in board_runs[1:]:
            if min(latest.until_s, run.until_s) - run.from_s > TOLERANCE_S:
                for own, other in _list_reported(run, latest):
                    # One violation per bundle: runs on several boards overlap on each of them.
                    key = own.path, choose_severity(own, other)
                    overlaps.setdefault(key, (board, own, other))
            latest = max(latest, run, key=lambda run: run.until_s)
    for (path, severity), (board, run, other) in overlaps.items():
        overlap_s = min(run.until_s, other.until_s) - max(run.from_s, other.from_s)
        observed = f"{board} is in {other.name} too, for {overlap_s:.0f} s at the same time"
        expected = "one run at a time on an accelerator"
        yield path, Violation(RESULT, "/started_at", observed, expected, severity=severity)


def _list_reported(run: RunSummary, other: RunSummary) -> Iterator[tuple[RunSummary, RunSummary]]:
    """Each of two overlapping runs that is reported, with the other one."""
    earlier, later = order_runs([run, other])
    if earlier.center == later.center:
        yield from ((earlier, later), (later, earlier))
        return
    for reported in list_copies(earlier, later):
        yield reported, earlier if reported is later else later
