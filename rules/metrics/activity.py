"""How busy the accelerators of a run were, what they drew at most over 60 s, and what the whole run
took: figures that Latif et al. 2024 state of a node.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.declarations.run import RunDeclaration
from rules.metrics.energy import Trace, trapezoid_energies
from rules.metrics.figures import EnergySource
from rules.metrics.idle import compute_energy_j, get_span
from rules.metrics.parts import Part
from rules.metrics.power.profile import average_minutes

Spans = Mapping[tuple[int, int], tuple[int, int]]
"""Start of the first and end of the last batch in ns, by epoch and rank."""


@dataclass(frozen=True)
class Activity:
    """What the accelerators of a run did, over its scored epochs and over the whole run."""

    active_share: float
    """Time in which batches were active over the time of the scored epochs: a mean over
    accelerators and epochs."""
    utilisation_percent: float | None
    """Mean utilisation that the boards state while batches are active; None if none states it."""
    max_60s_power_w: float | None
    """The largest mean over 60 s of the power of all accelerators together, from the first scored
    batch of each node to the last; None where that is shorter."""
    run_s: float
    """The time of the samples of the accelerator that has the most."""
    run_energy_j: float
    """Energy of all accelerators over their samples."""


def compute_activity(
    run: RunDeclaration, scored_parts: Sequence[Part], spans: Spans, source: EnergySource
) -> Activity:
    """The activity of a run from the parts of its scored epochs. There is at least one."""
    shares = [
        share for of_board in list_active_shares(scored_parts, spans).values() for share in of_board
    ]
    readings = np.concatenate([part.column("util_pct") for part in scored_parts])
    readings = readings[np.isfinite(readings)]
    traces = {part.accelerator: part.trace for part in scored_parts}
    windows = {
        accelerator: get_span(trace, source == "counter") for accelerator, trace in traces.items()
    }
    return Activity(
        active_share=math.fsum(shares) / len(shares),
        utilisation_percent=float(readings.mean()) if len(readings) else None,
        max_60s_power_w=_find_max_60s_power_w(run, scored_parts, spans, traces),
        run_s=max((end_ns - start_ns) / 1e9 for start_ns, end_ns in windows.values()),
        run_energy_j=math.fsum(
            compute_energy_j(trace, windows[accelerator], source == "counter")
            for accelerator, trace in traces.items()
        ),
    )


def list_active_shares(scored_parts: Sequence[Part], spans: Spans) -> dict[str, list[float]]:
    """The active share of each scored epoch, by accelerator: the time in which batches were active,
    over the time from the first batch to the end of the last one."""
    active_shares: dict[str, list[float]] = {}
    for part in scored_parts:
        start_ns, end_ns = spans[part.epoch, part.rank]
        # Active time is the union of the windows, so the overlapping requests of a server count
        # once.
        share = 1e9 * part.active_s / (end_ns - start_ns)
        active_shares.setdefault(part.accelerator, []).append(share)
    return active_shares


def _find_max_60s_power_w(
    run: RunDeclaration, scored_parts: Sequence[Part], spans: Spans, traces: Mapping[str, Trace]
) -> float | None:
    node_of = {rank.rank: rank.node for rank in run.ranks}
    spans_by_node: dict[str, list[tuple[int, int]]] = {}
    boards_by_node: dict[str, set[str]] = {}
    for part in scored_parts:
        node = node_of[part.rank]
        spans_by_node.setdefault(node, []).append(spans[part.epoch, part.rank])
        boards_by_node.setdefault(node, set()).add(part.accelerator)
    # Each node has a clock of its own, so each begins its grid of 1 s with its first batch.
    starts_ns = {node: min(start for start, _ in pairs) for node, pairs in spans_by_node.items()}
    ends_ns = {node: max(end for _, end in pairs) for node, pairs in spans_by_node.items()}
    count = min((ends_ns[node] - start_ns) // 10**9 for node, start_ns in starts_ns.items())
    if count < 1:
        return None
    power_w = np.zeros(count)
    for node, boards in boards_by_node.items():
        for trace in (traces[board] for board in sorted(boards)):
            offset_s = (starts_ns[node] - trace.zero_ns) / 1e9
            starts_s = np.arange(count, dtype=np.float64) + offset_s
            power_w += trapezoid_energies(
                trace.usable_power_times_s, trace.usable_power_w, starts_s, starts_s + 1.0
            )
    minutes_w = average_minutes(power_w)
    return float(minutes_w.max()) if len(minutes_w) else None
