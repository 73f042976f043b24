"""No result at this cap is known

## What it does
Reports closed and open runs in full size, on boards that have known results of the workload, at a
cap that differs by more than 5 % from the cap of these results, unless the LOG lists a run of
another center in the same setting (boards, workload, variant, precision, standing) whose cap
differs by at most 5 %.

A run with this finding wins no comparison until a reviewer accepts it or the LOG lists it.

## Why it is bad
It is no offence. But a run at 700 W whose readings are lowered looks like a run at a lower cap, and
nothing in it refutes that: the most that a cap saves is known from publications only, of other
implementations (T123). Such a claim would be the most efficient of the round at once.

## What to do
Ask for a review. Another center can reproduce the run (`bench-submit reproduce`).

## Source
`rules/known_results.py`: all committed results are at 700 W.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.boards import real_board
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import KNOWN_CAP_W, SAME_CAP, list_known_results
from rules.rule import RoundRule
from rules.run_summary import NEAR_CAP, RunSummary

RULE = RoundRule(__name__, "X122", Severity.WARNING, added="1.10.0", bars_winning=True)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    accepted_runs = [run for run in runs if run.log_line is not None and run.held]
    for run in runs:
        if run.standing not in ("closed", "open") or run.size != "full" or run.cap_w is None:
            continue
        boards = [board for name in run.board_names if (board := real_board(name))]
        if not any(list_known_results(board.id, run.workload) for board in boards):
            continue
        if abs(run.cap_w / KNOWN_CAP_W - 1) <= SAME_CAP:
            continue
        if not any(_is_known_at_cap(run, other) for other in accepted_runs):
            yield (
                run.path,
                Violation(
                    RESULT,
                    "/power/cap_w",
                    f"{run.cap_w:g} W",
                    f"{KNOWN_CAP_W:g} W, a cap near that of an accepted run of another center, or "
                    "a review",
                ),
            )


def _is_known_at_cap(run: RunSummary, other: RunSummary) -> bool:
    cap_w, other_cap_w = run.cap_w or 0.0, other.cap_w or 0.0
    return (
        other.center != run.center
        and other.setting == run.setting
        and abs(other_cap_w - cap_w) <= NEAR_CAP * max(cap_w, other_cap_w)
    )
