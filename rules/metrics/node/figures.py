"""The figures of the nodes of a run: what their meters measured beside the accelerators.

    node J per item   = energy of the nodes / items
    node W            = energy of the nodes / time from the first batch of an epoch to its last
    over accelerators = energy of the nodes / energy of the accelerators in the same time

They never enter the figures of the accelerators. The energy of the nodes is the sum over all feeds
of the meters of record. An epoch lasts, on each node, from the start of the first batch to the end
of the last batch of that node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.bundle_format.records import Json
from rules.bundle_format.table import Floats, Table
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.json_record import to_json
from rules.metrics.energy import MetricsError, Trace, counter_energies, trapezoid_energies
from rules.metrics.figures import Estimate, RunFigures, estimate_ratio
from rules.metrics.node.level import derive_level
from rules.metrics.node.spans import NodeSpan, join_spans, span_epochs
from rules.metrics.node.traces import FeedTrace, build_feed_traces
from rules.metrics.parts import Part
from rules.metrics.power.profile import PowerSpread, average_minutes, spread

MIN_READINGS_EPOCH = 10
"""Figures by epoch need so many readings of each feed in every scored epoch."""
MIN_READINGS_RUN = 30
"""Figures by run need so many readings of each feed in the scored epochs together."""
GRID_S = 1.0


@dataclass(frozen=True)
class NodeEpochFigures:
    """What the nodes of a run drew in one epoch."""

    energy_j: float
    span_s: float
    """From the start of the first batch to the end of the last, a mean over nodes."""
    mean_power_w: float
    """Of all nodes together."""
    joules_per_item: float | None
    """None where there are no items."""
    items_per_joule: float | None
    over_accelerators: float | None
    """Energy of the nodes over that of the accelerators in the same time."""


@dataclass(frozen=True)
class NodeHeadline:
    """What the nodes of a run drew over the scored epochs."""

    joules_per_item: Estimate | None
    items_per_joule: Estimate | None
    mean_power_w: Estimate
    over_accelerators: Estimate | None
    median_power_w: float
    """This and the following describe the power of all nodes together on a grid of 1 s, from the
    first scored batch to the last."""
    p95_power_w: float
    max_power_w: float
    max_60s_power_w: float | None
    """The largest mean over 60 s; None where the scored epochs are shorter."""
    p99_60s_power_w: float | None
    by_epoch: bool
    """Whether there are figures by epoch. Otherwise the run as a whole is one value."""
    level: int
    """Level of the measurement by the EE HPC Working Group, 0 if it meets none."""


@dataclass(frozen=True)
class NodeFigures:
    """What node meters measured."""

    headline: NodeHeadline
    epochs: Mapping[int, NodeEpochFigures]
    """By epoch; empty unless `headline.by_epoch`."""
    traces: tuple[FeedTrace, ...]
    """Of the meters of record."""
    spread: PowerSpread
    """Of the power of all nodes together on a grid of 1 s."""


def compute_node_figures(
    run: RunDeclaration,
    system: SystemDeclaration,
    node_samples: Table,
    batches: Table,
    parts: Sequence[Part],
    figures: RunFigures,
) -> NodeFigures:
    """The figures of the nodes of a run. `parts` and `figures` are those of its accelerators.

    Raises MetricsError where the readings do not allow it.
    """
    meters = system.meters_of_record
    if not meters:
        raise MetricsError("no meter of record measures whole nodes")
    traces = tuple(build_feed_traces(node_samples, meters, run.node_clocks or ()))
    spans = span_epochs(run, batches)
    scored = [epoch for epoch in figures.epochs if epoch.scored]
    _check_nodes(traces, spans[scored[0].epoch])
    by_epoch = all(
        trace.count_readings(span.start_ns, span.end_ns) >= MIN_READINGS_EPOCH
        for epoch in scored
        for span in spans[epoch.epoch]
        for trace in traces
        if trace.feed.node == span.node
    )
    whole = join_spans(span for epoch in scored for span in spans[epoch.epoch])
    accelerators = _place_accelerators(run, parts, figures.energy_of_record == "counter")
    if by_epoch:
        epochs = {
            epoch.epoch: _compute_epoch(epoch.items, spans[epoch.epoch], traces, accelerators)
            for epoch in figures.epochs
            if _cover(traces, spans[epoch.epoch])
        }
        values = [epochs[epoch.epoch] for epoch in scored]
        items = [epoch.items for epoch in scored]
    else:
        _check_run_readings(traces, whole)
        epochs, items = {}, [sum(epoch.items for epoch in scored)]
        values = [_compute_epoch(items[0], whole, traces, accelerators)]
    power_w = _sum_power_on_grid(whole, traces)
    minutes_w = average_minutes(power_w)
    energies_j = [value.energy_j for value in values]
    headline = NodeHeadline(
        joules_per_item=estimate_ratio(energies_j, items) if all(items) else None,
        items_per_joule=estimate_ratio(items, energies_j) if min(energies_j) > 0 else None,
        mean_power_w=estimate_ratio(energies_j, [value.span_s for value in values]),
        over_accelerators=_estimate_over_accelerators(values),
        median_power_w=float(np.median(power_w)),
        p95_power_w=float(np.percentile(power_w, 95)),
        max_power_w=float(power_w.max()),
        max_60s_power_w=float(minutes_w.max()) if len(minutes_w) else None,
        p99_60s_power_w=float(np.percentile(minutes_w, 99)) if len(minutes_w) else None,
        by_epoch=by_epoch,
        level=derive_level(traces, whole),
    )
    return NodeFigures(headline, epochs, traces, spread(power_w))


def add_node_figures(document: Json, node_figures: NodeFigures) -> None:
    """Add the figures of the nodes to the figures of result.json: `node`, and `node` of each epoch
    that has them."""
    document["node"] = to_json(node_figures.headline)
    for epoch in document["epochs"]:
        if epoch["epoch"] in node_figures.epochs:
            epoch["node"] = to_json(node_figures.epochs[epoch["epoch"]])


def _check_nodes(traces: Sequence[FeedTrace], spans: Sequence[NodeSpan]) -> None:
    measured = {trace.feed.node for trace in traces}
    if missing := [span.node for span in spans if span.node not in measured]:
        raise MetricsError(f"no meter measures the node {missing[0]}, which took part")


def _check_run_readings(traces: Sequence[FeedTrace], spans: Sequence[NodeSpan]) -> None:
    for trace in traces:
        for span in spans:
            count = trace.count_readings(span.start_ns, span.end_ns)
            if trace.feed.node == span.node and count < MIN_READINGS_RUN:
                raise MetricsError(
                    f"feed {trace.feed.feed} of meter {trace.meter.id} has {count} readings in the "
                    f"scored epochs; figures of nodes need {MIN_READINGS_RUN}"
                )


def _cover(traces: Sequence[FeedTrace], spans: Sequence[NodeSpan]) -> bool:
    """Whether the readings cover an epoch; the discarded one may begin before them."""
    return all(
        trace.zero_ns <= span.start_ns
        for trace in traces
        for span in spans
        if trace.feed.node == span.node
    )


def _compute_epoch(
    items: int,
    spans: Sequence[NodeSpan],
    traces: Sequence[FeedTrace],
    accelerators: Sequence["_Accelerator"],
) -> NodeEpochFigures:
    energy_j = sum(
        float(trace.measure_energy([span.start_ns], [span.end_ns])[0])
        for span in spans
        for trace in traces
        if trace.feed.node == span.node
    )
    span_s = sum(span.seconds for span in spans) / len(spans)
    accelerators_j = sum(
        accelerator.measure_energy(span.start_ns, span.end_ns)
        for span in spans
        for accelerator in accelerators
        if accelerator.node == span.node
    )
    return NodeEpochFigures(
        energy_j=energy_j,
        span_s=span_s,
        mean_power_w=energy_j / span_s,
        joules_per_item=energy_j / items if items else None,
        items_per_joule=items / energy_j if energy_j > 0 else None,
        over_accelerators=energy_j / accelerators_j if accelerators_j > 0 else None,
    )


@dataclass(frozen=True)
class _Accelerator:
    """The readings of an accelerator that took part."""

    node: str
    trace: Trace
    by_counter: bool
    """Whether the counter is the energy of record of the run."""

    def measure_energy(self, start_ns: int, end_ns: int) -> float:
        """Energy of record in J over an interval."""
        trace = self.trace
        start, end = (np.array([(ns - trace.zero_ns) / 1e9]) for ns in (start_ns, end_ns))
        if self.by_counter:
            energies_j = counter_energies(trace.counter_times_s, trace.counter_j, start, end)
            if energies_j is not None:
                return float(energies_j[0])
        times_s, power_w = trace.usable_power_times_s, trace.usable_power_w
        return float(trapezoid_energies(times_s, power_w, start, end)[0])


def _place_accelerators(
    run: RunDeclaration, parts: Sequence[Part], by_counter: bool
) -> list[_Accelerator]:
    node_of = {rank.rank: rank.node for rank in run.ranks}
    # Each accelerator has a part in every epoch, all with the same trace.
    traces = {part.accelerator: (node_of[part.rank], part.trace) for part in parts}
    return [_Accelerator(node, trace, by_counter) for node, trace in traces.values()]


def _estimate_over_accelerators(values: Sequence[NodeEpochFigures]) -> Estimate | None:
    shares = [value.over_accelerators for value in values if value.over_accelerators]
    if len(shares) < len(values):
        return None
    energies_j = [value.energy_j for value in values]
    accelerators_j = [j / share for j, share in zip(energies_j, shares, strict=True)]
    return estimate_ratio(energies_j, accelerators_j)


def _sum_power_on_grid(spans: Sequence[NodeSpan], traces: Sequence[FeedTrace]) -> Floats:
    """Power of all nodes together in W, as means over steps of the grid, shape (k,) with k >= 1.

    Each node begins its grid with its first scored batch, because nodes have clocks of their own.
    """
    step_ns = round(GRID_S * 1e9)
    count = max(1, min((span.end_ns - span.start_ns) // step_ns for span in spans))
    power_w = np.zeros(count)
    for span in spans:
        # A span shorter than a step is one step.
        length_ns = min(step_ns, span.end_ns - span.start_ns)
        starts_ns = [span.start_ns + length_ns * step for step in range(count)]
        ends_ns = [start_ns + length_ns for start_ns in starts_ns]
        for trace in traces:
            if trace.feed.node == span.node:
                power_w += trace.integrate_power(starts_ns, ends_ns) / (length_ns / 1e9)
    return power_w
