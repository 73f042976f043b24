"""Decide which of two runs a round doubts if their results contradict each other, and nobody has
accepted either."""

import math
from collections.abc import Callable

from rules.boards import find_board
from rules.finding import Severity
from rules.known_results import KNOWN_CAP_W, SAME_CAP, KnownResult, find_known_result
from rules.run_summary import RunSummary
from rules.workloads import workloads

DistanceOf = Callable[[RunSummary, KnownResult], float]
"""How far a run is from the known result of its kind, as a share."""


def choose_severity_of_dispute(
    run: RunSummary, other: RunSummary, distance_of: DistanceOf
) -> Severity | None:
    """The severity of a finding on `run` that only `other`, a run of another center, causes: a
    note if the LOG lists neither and `other` is farther from the known result of its kind, None
    for that of the rule.

    A center could otherwise bar the honest run of another one by a false one of its own.
    """
    if run.log_line is not None or other.log_line is not None or run.center == other.center:
        return None
    own, others = (_measure(each, distance_of) for each in (run, other))
    return Severity.NOTE if own < others else None


def measure_result(run: RunSummary, known: KnownResult) -> float:
    """How far items/s and J per item are from those of the known result, as a share: the larger
    difference. Infinite at other caps, where no result is known."""
    if run.cap_w is None or abs(run.cap_w / KNOWN_CAP_W - 1) > SAME_CAP:
        return math.inf
    energy = run.headline.joules_per_item
    ratios = [run.headline.items_per_s_per_accelerator.mean / known.items_per_s]
    if energy and energy.mean > 0:
        ratios.append(1 / energy.mean / known.items_per_joule)
    return max(abs(ratio - 1) for ratio in ratios)


def measure_work_per_clock(run: RunSummary, known: KnownResult) -> float:
    """How far the items per clock cycle are from the range of the known results, as a share."""
    clock = run.clocks.sm_mhz
    if clock is None or not clock.mean > 0:
        return math.inf
    per_megacycle = run.headline.items_per_s_per_accelerator.mean / clock.mean
    return max(
        per_megacycle / known.items_per_megacycle - 1,
        1 - per_megacycle / known.least_per_megacycle,
        0.0,
    )


def _measure(run: RunSummary, distance_of: DistanceOf) -> float:
    """The distance of a run from the known result of its board, workload, variant and batch size;
    infinite if none is known."""
    board = find_board(run.board_names[0]) if len(run.board_names) == 1 else None
    if board is None:
        return math.inf
    workload = workloads().get(run.workload)
    is_server = workload is not None and workload.mode == "inference"
    batch_size = run.batch_size / (len(run.boards) if is_server else 1)
    variant = str(run.configuration["variant"])
    found = find_known_result(board.id, run.workload, variant, batch_size)
    return distance_of(run, found[1]) if found else math.inf
