"""Places the clock of a log on the monotonic clock of a node."""

from dataclasses import dataclass

from rules.bundle import Bundle
from rules.declarations.system import MeterDeclaration
from rules.metrics.energy import Trace
from rules.metrics.node.clock import SEARCH_S, ClockEstimate, MeterReadings, estimate_clock
from rules.power_logs.integrals import sum_feeds
from rules.power_logs.local_time import format_time
from rules.power_logs.records import PowerLog, PowerLogError

_LATENCY_S = 0.5
"""How long a meter may take to publish a reading, as in rule N106."""
_STATE_IT = (
    "measure how far the clock of the log is ahead of the node's clock, and state it with "
    "--clock-offset and --clock-bound"
)


@dataclass(frozen=True)
class StatedClock:
    """What the submitter states of the clock of a log."""

    ahead_s: float
    """How far it is ahead of the wall clock of the node."""
    bound_s: float


@dataclass(frozen=True)
class PlacedClock:
    """The clock of a log on one node, as `node_clocks` of result.json has it."""

    node: str
    offset_ns: int
    """Added to a stamp of the log, it gives the monotonic clock of the node."""
    bound_ns: int
    source: str
    ahead_s: float
    """How far the clock of the log is ahead of the wall clock of the node."""


def place_clock(
    bundle: Bundle, log: PowerLog, meter: MeterDeclaration, node: str, stated: StatedClock | None
) -> PlacedClock:
    """Place the clock of a log as stated, or by its changes of power if nothing is stated.

    Raises PowerLogError if the changes of power do not decide it, or contradict what is stated.
    """
    pair = next((pair for pair in bundle.declaration.clocks or () if pair.node == node), None)
    if pair is None:
        raise PowerLogError(
            f"{bundle.path}: result.json has no clocks of {node}, so no log can be placed; only "
            "runs since rule book 1.4.0 have them"
        )
    stated_s = 0.0 if stated is None else stated.ahead_s
    offset_ns = pair.monotonic_ns - pair.wall_ns - round(stated_s * 1e9)
    traces = _find_traces(bundle, node)
    _check_overlap(bundle, log, offset_ns, traces)
    feeds = [feed.feed for feed in meter.feeds if feed.node == node]
    together = sum_feeds(log.select(feeds))
    if together is None:
        raise PowerLogError(f"the feeds {', '.join(feeds)} of the log have no time in common")
    times_ns, power_w = together
    readings = MeterReadings(
        times_ns + offset_ns,
        power_w,
        (meter.averaging_ms or 0.0) / 1e3,
        (meter.stamp_resolution_ms or 0.0) / 1e3,
    )
    estimate = estimate_clock(readings, traces)
    if estimate is not None and not estimate.decided:
        estimate = None
    if stated is not None:
        _check_stated(stated, estimate, readings.averaging_s, node)
        return PlacedClock(node, offset_ns, round(stated.bound_s * 1e9), "stated", stated_s)
    if estimate is None:
        raise PowerLogError(
            f"the changes of power do not place the clock of the log on that of {node}; {_STATE_IT}"
        )
    return PlacedClock(
        node,
        offset_ns + round(estimate.offset_s * 1e9),
        round(estimate.bound_s * 1e9),
        "correlation",
        -estimate.offset_s,
    )


def _check_stated(
    stated: StatedClock, estimate: ClockEstimate | None, averaging_s: float, node: str
) -> None:
    """Raise PowerLogError if a decided estimate contradicts what is stated, as rule N106 would
    report it."""
    if estimate is None:
        return
    tolerance_s = stated.bound_s + estimate.bound_s + averaging_s / 2 + _LATENCY_S
    if abs(estimate.offset_s) > tolerance_s:
        raise PowerLogError(
            f"--clock-offset {stated.ahead_s:g}: the changes of power place the clock of the log "
            f"{stated.ahead_s - estimate.offset_s:.2f} s ahead of that of {node}; correct the "
            "offset, or leave it out"
        )


def _find_traces(bundle: Bundle, node: str) -> list[Trace]:
    """The traces of the accelerators of a node. Raises PowerLogError if there are none."""
    ranks = {rank.rank for rank in bundle.declaration.ranks if rank.node == node}
    traces = {part.accelerator: part.trace for part in bundle.parts if part.rank in ranks}
    if not traces:
        raise PowerLogError(f"{bundle.path}: no accelerator of {node} took part in the run")
    return list(traces.values())


def _check_overlap(bundle: Bundle, log: PowerLog, offset_ns: int, traces: list[Trace]) -> None:
    """Raise PowerLogError if the log does not cover the run, whatever shift the search may find."""
    slack_ns = round(SEARCH_S * 1e9)
    start_ns = min(trace.zero_ns for trace in traces) - offset_ns
    end_ns = max(trace.zero_ns + round(trace.read_s[-1] * 1e9) for trace in traces) - offset_ns
    if log.start_ns > start_ns + slack_ns or log.end_ns < end_ns - slack_ns:
        log_span, run_span = (
            f"from {format_time(int(first), True)} to {format_time(int(last), True)}"
            for first, last in ((log.start_ns, log.end_ns), (start_ns, end_ns))
        )
        raise PowerLogError(
            f"the log has readings {log_span}, and {bundle.path} was measured {run_span} by the "
            "clock of the log; give the log of this run, and check --time-zone"
        )
