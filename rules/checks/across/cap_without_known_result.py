"""No result at this cap is known

## What it does
Reports closed and open runs in full size, on boards that have known results of the workload, at a
cap that differs by more than 5 % from the cap of these results, unless one of these is among the
bundles that are checked together:

- a run of another center in the same setting (boards, workload, variant, precision, standing) that
  the LOG lists and whose cap differs by at most 5 %;
- a run of the same center on the same accelerators that differs in its cap only, at the cap of the
  known results, so that the saving is seen. It may be no more than 1 % above that of any published
  run of this kind of board at the cap.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
It is no offence. But a run at 700 W whose readings are lowered looks like a run at a lower cap, and
nothing in it refutes that. Such a claim would be the most efficient of the round at once. A sweep
has the run at the known cap too, and the rules across caps compare them (X101, X106, X111).

## What to do
Submit the run at the known cap too, or ask for a review. Another center can reproduce the run
(`bench-submit reproduce`).

## Source
`rules/known_results.py`: all committed results are at 700 W, and the published savings are those
of Mayr et al. 2026.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.boards import real_board
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import KNOWN_CAP_W, SAME_CAP, find_largest_saving, list_known_results
from rules.rule import RoundRule
from rules.run_groups import NEAR_CAP
from rules.run_summary import RunSummary

SAME_SAVING = 0.01
"""By how much a saving may exceed the largest published one: runs on one board differ so much."""
RULE = RoundRule(__name__, "X122", Severity.WARNING, added="1.10.0", bars_winning=True)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    accepted_runs = [run for run in runs if run.log_line is not None and run.held]
    anchors: dict[tuple[object, ...], list[RunSummary]] = {}
    for run in runs:
        if _is_at_known_cap(run):
            anchors.setdefault((*run.comparison_key, run.boards), []).append(run)
    for run in runs:
        if run.standing not in ("closed", "open") or run.size != "full" or run.cap_w is None:
            continue
        boards = [
            board.id
            for name in run.board_names
            if (board := real_board(name)) and list_known_results(board.id, run.workload)
        ]
        if not boards or _is_at_known_cap(run):
            continue
        saving = max(find_largest_saving(board, run.cap_w) for board in boards)
        own_anchors = anchors.get((*run.comparison_key, run.boards), [])
        if any(_is_usual_saving(run, anchor, saving) for anchor in own_anchors):
            continue
        if not any(_is_known_at_cap(run, other) for other in accepted_runs):
            yield (
                run.path,
                Violation(
                    RESULT,
                    "/power/cap_w",
                    f"{run.cap_w:g} W",
                    f"{KNOWN_CAP_W:g} W; such a run of yours beside this one, and at most "
                    f"{saving:.2f} times its items/J; a cap near that of an accepted run of "
                    "another center; or a review",
                ),
            )


def _is_at_known_cap(run: RunSummary) -> bool:
    return abs((run.cap_w or 0.0) / KNOWN_CAP_W - 1) <= SAME_CAP


def _is_usual_saving(run: RunSummary, anchor: RunSummary, saving: float) -> bool:
    """Whether a run saves no more than a published one against a run at the known cap."""
    energy, anchor_energy = run.headline.joules_per_item, anchor.headline.joules_per_item
    return (
        energy is not None
        and anchor_energy is not None
        and anchor_energy.mean <= (saving + SAME_SAVING) * energy.mean
    )


def _is_known_at_cap(run: RunSummary, other: RunSummary) -> bool:
    cap_w, other_cap_w = run.cap_w or 0.0, other.cap_w or 0.0
    return (
        other.center != run.center
        and other.setting == run.setting
        and abs(other_cap_w - cap_w) <= NEAR_CAP * max(cap_w, other_cap_w)
    )
