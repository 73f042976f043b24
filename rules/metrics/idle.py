"""Idle power, and duration and energy of the phases of a run.

The phases before the first epoch come from the events `phase-ended`, the others from batches and
samples. The energy of a phase is that of all accelerators of the run on the node, by the method of
record of the run: the difference of the counter or the trapezoid, interpolated at both ends.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.events import Event, PhaseEnded
from rules.bundle_format.table import Table
from rules.declarations.run import Rank, RunDeclaration
from rules.metrics.energy import (
    MetricsError,
    Trace,
    build_trace,
    counter_energies,
    trapezoid_energies,
)
from rules.metrics.figures import BoardIdle, EnergySource, Headline, IdleFigures, PhaseFigures
from rules.metrics.intervals import group_by_accelerator
from rules.metrics.parts import Part
from rules.protocol import PROTOCOLS

BARE, START_UP, BUILD, RESIDENT = "bare", "start-up", "build", "resident"
DISCARDED, SCORED, PREPARATION, ALL = "discarded", "scored", "preparation", "all"
"""`preparation` is the time from the start of the workers to the first scored batch, without the
phase `resident`. `all` is the time that the samples of the node span."""

BUSY = 2.0
"""An unused board is busy from so many times the idle power of the boards of the run on. Idle
boards of one host differ by 5 %; the least demanding runs took 2.5 times the idle power."""

Window = tuple[int, int]
"""Start and end in ns of the monotonic clock of a node."""


@dataclass(frozen=True)
class IdleSummary:
    """What idle boards and the preparation of a run cost."""

    bare_w: float
    """Mean idle power of the boards of the run without a model."""
    resident_w: float
    """The same with the model resident and no batch."""
    idle_share: float
    """Resident power over the mean power under load."""
    preparation_s: float
    """Time to the first scored epoch, on the slowest node."""
    preparation_j: float
    """Energy of the boards of the run before it."""
    unused_boards: int
    unused_w: float | None
    """Mean power of all unused boards together during the run; None if one was not read."""
    busy_boards: int
    """How many unused boards drew more than `BUSY` times the bare power: other work ran there."""
    unused_j: float | None


def find_phase_windows(events: Iterable[Event], attempt: int) -> dict[str, dict[str, Window]]:
    """The phases that the events of an attempt state, by node and name. The last event of a phase
    counts."""
    windows: dict[str, dict[str, Window]] = {}
    for event in events:
        if isinstance(event, PhaseEnded) and event.attempt == attempt:
            windows.setdefault(event.node, {})[event.phase] = (event.start_ns, event.end_ns)
    return windows


def compute_idle_figures(
    run: RunDeclaration,
    events: Iterable[Event],
    parts: Sequence[Part],
    batches: Table,
    energy_of_record: EnergySource,
    unused_samples: Mapping[str, Table],
) -> IdleFigures:
    """The idle power of the boards of a run and its phases. `unused_samples` are those of the
    boards that the run does not use, by node.

    Raises MetricsError if a phase reaches outside the samples or does not end after its start, and
    if a node has no event of an idle phase.
    """
    windows_by_node = find_phase_windows(events, run.attempt)
    by_counter = energy_of_record == "counter"
    traces = {part.accelerator: part.trace for part in parts}
    boards: list[BoardIdle] = []
    phases: list[PhaseFigures] = []
    for node in dict.fromkeys(rank.node for rank in run.ranks):
        ranks = [rank for rank in run.ranks if rank.node == node]
        uuids = [uuid for rank in ranks for uuid in rank.accelerators]
        if unsampled := set(uuids) - traces.keys():
            raise MetricsError(f"{min(unsampled)} has no samples in any epoch")
        node_traces = {uuid: traces[uuid] for uuid in uuids}
        windows = dict(windows_by_node.get(node, {}))
        if missing := {BARE, START_UP, BUILD, RESIDENT} - windows.keys():
            raise MetricsError(f"{node} has no event of the phase {min(missing)}")
        windows |= _find_batch_windows(run, ranks, batches, windows[START_UP][0])
        windows[ALL] = _find_common_span(node_traces.values(), by_counter)
        energies_j = {
            phase: [compute_energy_j(trace, window, by_counter) for trace in node_traces.values()]
            for phase, window in windows.items()
        }
        durations_s = {phase: _get_seconds(window) for phase, window in windows.items()}
        for index, uuid in enumerate(node_traces):
            boards.append(
                BoardIdle(
                    node=node,
                    accelerator=uuid,
                    used=True,
                    bare_w=energies_j[BARE][index] / durations_s[BARE],
                    resident_w=energies_j[RESIDENT][index] / durations_s[RESIDENT],
                    mean_w=energies_j[ALL][index] / durations_s[ALL],
                    energy_j=energies_j[ALL][index],
                )
            )
        sums_j = {phase: math.fsum(board_j) for phase, board_j in energies_j.items()}
        # Waiting for an idle reading is not part of what the preparation costs.
        durations_s[PREPARATION] -= durations_s[RESIDENT]
        sums_j[PREPARATION] -= sums_j[RESIDENT]
        phases += [
            PhaseFigures(node, phase, durations_s[phase], sums_j[phase]) for phase in windows
        ]
        if node in unused_samples:
            boards += _compute_unused_boards(node, unused_samples[node], windows)
    return IdleFigures(tuple(boards), tuple(phases))


def _find_batch_windows(
    run: RunDeclaration, ranks: Sequence[Rank], batches: Table, start_ns: int
) -> dict[str, Window]:
    """The phases of a node that its batches limit. `start_ns` is the start of its workers."""
    of_node = np.isin(batches.ints("rank"), [rank.rank for rank in ranks])
    scored = batches.ints("epoch") >= PROTOCOLS[run.protocol].discarded_epochs
    starts_ns, ends_ns = batches.ints("start_ns"), batches.ints("end_ns")
    if not (of_node & scored).any() or not (of_node & ~scored).any():
        raise MetricsError(f"{ranks[0].node} has no discarded or no scored batches")
    first_scored_ns = int(starts_ns[of_node & scored].min())
    return {
        DISCARDED: (int(starts_ns[of_node & ~scored].min()), first_scored_ns),
        SCORED: (first_scored_ns, int(ends_ns[of_node & scored].max())),
        PREPARATION: (start_ns, first_scored_ns),
    }


def _find_common_span(traces: Iterable[Trace], by_counter: bool) -> Window:
    """The longest time in which every trace has readings at both ends."""
    spans = [get_span(trace, by_counter) for trace in traces]
    return max(start for start, _ in spans), min(end for _, end in spans)


def get_span(trace: Trace, by_counter: bool) -> Window:
    """The time between the first and the last reading of a trace."""
    times_s = trace.counter_times_s if by_counter else trace.usable_power_times_s
    return tuple(trace.zero_ns + round(time_s * 1e9) for time_s in (times_s[0], times_s[-1]))


def _get_seconds(window: Window) -> float:
    """The duration of a window. Raises MetricsError if it does not end after its start."""
    start_ns, end_ns = window
    if end_ns <= start_ns:
        raise MetricsError(f"a phase ends at {end_ns} ns and starts at {start_ns} ns")
    return (end_ns - start_ns) / 1e9


def compute_energy_j(trace: Trace, window: Window, by_counter: bool) -> float:
    """Energy of one accelerator in J over a window. Raises MetricsError if the window leaves the
    readings."""
    # Subtract while the times are integers: a double does not hold the ns of a long uptime exactly.
    start_s, end_s = (np.array([(time_ns - trace.zero_ns) / 1e9]) for time_ns in window)
    if by_counter:
        energies_j = counter_energies(trace.counter_times_s, trace.counter_j, start_s, end_s)
        if energies_j is None:
            raise MetricsError("an accelerator has no energy counter")
    else:
        energies_j = trapezoid_energies(
            trace.usable_power_times_s, trace.usable_power_w, start_s, end_s
        )
    return float(energies_j[0])


def _compute_unused_boards(
    node: str, samples: Table, windows: Mapping[str, Window]
) -> Iterator[BoardIdle]:
    """The power of the boards of a node that the run does not use, from their own samples.
    `windows` are the phases of the node. A figure is None if the readings do not allow it."""
    for accelerator, board_samples in group_by_accelerator(samples).items():
        yield _compute_unused_board(node, accelerator, board_samples, windows)


def _compute_unused_board(
    node: str, accelerator: str, samples: Table, windows: Mapping[str, Window]
) -> BoardIdle:
    try:
        trace = build_trace(samples)
    except MetricsError:
        return BoardIdle(node, accelerator, False, None, None, None, None)
    # A counter that stands still or falls is not used.
    by_counter = len(trace.counter_j) > 1 and bool(trace.counter_j[-1] > trace.counter_j[0])
    span = get_span(trace, by_counter)

    def compute_mean_w(window: Window | None) -> float | None:
        """None if readings cover less than half of the window."""
        if window is None:
            return None
        covered = max(window[0], span[0]), min(window[1], span[1])
        if 2 * (covered[1] - covered[0]) <= window[1] - window[0]:
            return None
        return compute_energy_j(trace, covered, by_counter) / _get_seconds(covered)

    return BoardIdle(
        node=node,
        accelerator=accelerator,
        used=False,
        bare_w=compute_mean_w(windows.get(BARE)),
        resident_w=compute_mean_w(windows.get(RESIDENT)),
        mean_w=compute_mean_w(span),
        energy_j=compute_energy_j(trace, span, by_counter),
    )


def summarize_idle(idle: IdleFigures, headline: Headline) -> IdleSummary:
    """What readers of a report see of the idle figures of a run."""
    used_boards = [board for board in idle.boards if board.used]
    unused_boards = [board for board in idle.boards if not board.used]
    preparations = [phase for phase in idle.phases if phase.phase == PREPARATION]
    bare_w = _compute_mean(board.bare_w for board in used_boards)
    resident_w = _compute_mean(board.resident_w for board in used_boards)
    return IdleSummary(
        bare_w=bare_w,
        resident_w=resident_w,
        idle_share=resident_w / headline.mean_power_w_per_accelerator.mean,
        preparation_s=max(phase.seconds for phase in preparations),
        preparation_j=math.fsum(phase.energy_j for phase in preparations),
        unused_boards=len(unused_boards),
        unused_w=_add(board.mean_w for board in unused_boards),
        busy_boards=sum((board.mean_w or 0.0) > BUSY * bare_w for board in unused_boards),
        unused_j=_add(board.energy_j for board in unused_boards),
    )


def _compute_mean(values: Iterable[float | None]) -> float:
    known = [math.nan if value is None else value for value in values]
    return math.fsum(known) / len(known)


def _add(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else math.fsum(value or 0.0 for value in known)
