"""The work per clock cycle differs from that of other centers

## What it does
Computes items per clock cycle: the throughput of an accelerator divided by its mean SM clock. The
rule compares closed runs with those of other centers: same boards and number of boards, workload,
variant and precision, on boards that kept their cap, at caps within 5 %. It reports a run that
differs by more than 4 % from the median of the other centers (each with the mean of its runs), and
names a run of the center next to that median. If other centers have runs with the same batch size,
only these are compared. Otherwise all their runs are, and only a run with more work per cycle is
reported: smaller batches do less. A clock that is stated too high is then not found. One run of
another center suffices; with two centers the rule reports the runs of both. If the LOG lists some
of the runs of other centers, only those count: centers that agree on a claim must not outvote an
accepted run. If the LOG has neither the run nor the named one, the finding is a note on the one
that is nearer to the known results of its board and workload: a false run must not bar an honest
one. Runs whose clock was not read are skipped.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
Temperature, board and cap change the clock, and the throughput follows it. The work that a board
does in one cycle depends on the software, and by a few percent on the clock, because memory does
not follow it. A run that does more of it did less work than stated, took more time than stated, or
computed in another precision. It is a warning, because another version of a library changes the
work per cycle too.

## What to do
Compare batch, packages, options and clocks with those of the named run, and explain the difference
to a reviewer. An older or newer recipe of the reference implementation, as the settings in
result.json describe it, can be the reason.

## Source
Committed runs, when the limit was set: 30 in nine settings, batch sizes included, on H200s and
H100s at 700 W. Between two runs of one setting and recipe, items per cycle differed by 2.6 % at
most, in 70 pairs. The limit is 1.5 times as large. Five new recipes of the reference
implementations brought 1 to 25 % more items per cycle. From batch 2 048 to 256, items per cycle of
ResNet-50 fall by 15 %.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rules.bundle_format.table import RESULT
from rules.copies.disputes import choose_severity_of_dispute, measure_work_per_clock
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_groups import pair_with_other_centers
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X115", Severity.WARNING, added="1.5.0", bars_winning=True)

MAX_DIFFERENCE = 0.04
"""Largest usual difference from the median of other centers, as a share; committed runs of one
setting, recipe and batch size differ by 0.026 at most."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    clocked_runs = [run for run in runs if run.clocks.sm_mhz and run.clocks.sm_mhz.mean > 0]
    for group, other_groups in pair_with_other_centers(clocked_runs):
        for batch_size in {run.batch_size for run in group}:
            same_batch_groups = [
                [run for run in other_group if run.batch_size == batch_size]
                for other_group in other_groups
            ]
            has_same_batch = any(same_batch_groups)
            median, known_run = _find_median(
                list(filter(None, same_batch_groups)) if has_same_batch else other_groups
            )
            for run in group:
                if run.batch_size != batch_size:
                    continue
                difference = _items_per_cycle(run) - median
                if has_same_batch:
                    difference = abs(difference)
                if difference > MAX_DIFFERENCE * median:
                    yield run.path, _violate(run, known_run, median)


def _find_median(groups: Sequence[list[RunSummary]]) -> tuple[float, RunSummary]:
    """The median of the centers in items per cycle, and a run of the center next to it."""
    runs_by_center: dict[str, list[RunSummary]] = {}
    for group in groups:
        runs_by_center.setdefault(group[0].center, []).extend(group)
    # One mean per center, so that a center with many bundles does not outvote the others.
    means = sorted(
        (fmean(map(_items_per_cycle, known_runs)), center)
        for center, known_runs in runs_by_center.items()
    )
    low, high = means[(len(means) - 1) // 2], means[len(means) // 2]
    return (low[0] + high[0]) / 2, runs_by_center[low[1]][0]


def _items_per_cycle(run: RunSummary) -> float:
    clock = run.clocks.sm_mhz
    return run.headline.items_per_s_per_accelerator.mean / (clock.mean * 1e6) if clock else 0.0


def _violate(run: RunSummary, known_run: RunSummary, median: float) -> Violation:
    return Violation(
        RESULT,
        "/headline/items_per_s_per_accelerator",
        f"{_items_per_cycle(run):.4g} items per SM clock cycle, and "
        f"{_items_per_cycle(known_run):.4g} in {known_run.name}",
        f"within {MAX_DIFFERENCE:.0%} of {median:.4g}, the median of other centers",
        severity=choose_severity_of_dispute(run, known_run, measure_work_per_clock),
    )
