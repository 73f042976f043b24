"""The power of a node changes at other times than that of its accelerators

## What it does
Places the readings of each node meter by their changes: it searches the shift within 60 s for which
they fit the changes of the accelerators best. Where enough changes exclude every other shift, it
must not exceed the sum of the declared bound of the clock, half of the resolution of the stamps,
half of the averaging time, 0.5 s, and the error of the estimate.

## Why it is bad
Readings that are late or early count the energy of other seconds. The readings of another run do
not fit at all.

## What to do
Check the clock of the meter and how its stamps were placed. A meter that answers with old readings
has to be read by its stamps.

## Source
An estimate that this rule uses was at most 2.5 s wrong on simulated nodes around all committed
traces, and never more than its error (docs/measurement.md). No real node meter was tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SYSTEM
from rules.declarations.run import NodeClock
from rules.finding import Severity, Violation
from rules.metrics.energy import Trace
from rules.metrics.node.clock import MeterReadings, combine_feeds, estimate_clock
from rules.metrics.node.traces import FeedTrace
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N106", Severity.ERROR, since="1.1", added="1.6.0")
LATENCY_S = 0.5
"""How long a meter may take to publish a reading."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    clocks = {(clock.meter, clock.node): clock for clock in bundle.declaration.node_clocks or ()}
    boards = _group_boards(bundle)
    feeds: dict[tuple[str, str], list[FeedTrace]] = {}
    for trace in bundle.feed_traces:
        if trace.meter.covers_nodes and trace.feed.node in boards:
            feeds.setdefault((trace.meter.id, trace.feed.node), []).append(trace)
    for (meter_id, node), traces in feeds.items():
        readings = combine_feeds(traces, _add_up_power_w(node, feeds.values()))
        violation = _compare(readings, traces[0], boards[node], clocks.get((meter_id, node)))
        if violation:
            yield violation


def _group_boards(bundle: Bundle) -> Mapping[str, list[Trace]]:
    """The traces of the accelerators that took part, by node."""
    node_of = {rank.rank: rank.node for rank in bundle.ranks}
    traces = {part.accelerator: (node_of[part.rank], part.trace) for part in bundle.parts}
    boards: dict[str, list[Trace]] = {}
    for node, trace in traces.values():
        boards.setdefault(node, []).append(trace)
    return boards


def _add_up_power_w(node: str, feeds: Iterable[Sequence[FeedTrace]]) -> float:
    """The mean power of a node by all its meters of record."""
    return sum(
        float(trace.power_w.mean())
        for traces in feeds
        for trace in traces
        if trace.feed.node == node and trace.meter.of_record is not False
    )


def _compare(
    readings: MeterReadings, trace: FeedTrace, boards: Sequence[Trace], clock: NodeClock | None
) -> Violation | None:
    estimate = estimate_clock(readings, boards)
    if estimate is None or not estimate.decided:
        return None
    # The bound of the estimate contains half of the resolution of the stamps.
    declared_s = clock.bound_ns / 1e9 if clock else 0.0
    tolerance_s = declared_s + readings.averaging_s / 2 + LATENCY_S + estimate.bound_s
    if abs(estimate.offset_s) <= tolerance_s:
        return None
    direction = "early" if estimate.offset_s > 0 else "late"
    return Violation(
        RESULT if clock else SYSTEM,
        f"{clock.pointer}/offset_ns" if clock else f"{trace.meter.pointer}/clock",
        f"meter {trace.meter.id} on {trace.feed.node}: readings are "
        f"{abs(estimate.offset_s):.2f} s {direction}",
        f"at most {tolerance_s:.2f} s",
    )
