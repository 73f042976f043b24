"""Places the clock of a log on the monotonic clock of a node."""

from dataclasses import dataclass

import numpy as np

from harness.power_logs.local_time import format_time
from harness.power_logs.records import POWER, PowerLog, PowerLogError
from rules.bundle import Bundle
from rules.metrics.energy import Trace
from rules.metrics.node.clock import SEARCH_S, MeterReadings, estimate_clock
from rules.system_declaration import MeterDeclaration

_TOLERANCE_S = 0.5
"""How far the correlation may lie outside all stated bounds, as for rule N106."""
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
    """Place the clock of a log by its changes of power, or as stated if these do not decide it.

    Raises PowerLogError if neither places it, or if both do and differ.
    """
    pair = next((pair for pair in bundle.declaration.clocks or () if pair.node == node), None)
    if pair is None:
        raise PowerLogError(
            f"{bundle.path}: result.json has no clocks of {node}, so no log can be placed; only "
            "runs since rule book 1.4.0 have them"
        )
    # As if the clock of the log were the wall clock of the node.
    nominal_ns = pair.monotonic_ns - pair.wall_ns
    traces = _find_traces(bundle, node)
    _check_overlap(bundle, log, nominal_ns, traces, stated)
    feeds = [feed.feed for feed in meter.feeds if feed.node == node]
    readings = MeterReadings(
        log.times_ns + nominal_ns,
        np.sum([log.columns[feed, POWER] for feed in feeds], axis=0),
        (meter.averaging_ms or 0.0) / 1e3,
        (meter.stamp_resolution_ms or 0.0) / 1e3,
    )
    search_s = SEARCH_S if stated is None else max(SEARCH_S, 2 * abs(stated.ahead_s))
    estimate = estimate_clock(readings, traces, search_s)
    decided = estimate is not None and estimate.decided
    if stated is None:
        if estimate is None or not decided:
            raise PowerLogError(
                f"the changes of power do not place the clock of the log on that of {node}; "
                f"{_STATE_IT}"
            )
        return PlacedClock(
            node,
            nominal_ns + round(estimate.offset_s * 1e9),
            round(estimate.bound_s * 1e9),
            "correlation",
            -estimate.offset_s,
        )
    if estimate is not None and decided:
        margin_s = stated.bound_s + estimate.bound_s + readings.averaging_s / 2 + _TOLERANCE_S
        if abs(stated.ahead_s + estimate.offset_s) > margin_s:
            raise PowerLogError(
                f"--clock-offset {stated.ahead_s:g}: the changes of power place the clock of the "
                f"log {-estimate.offset_s:.2f} s ahead of that of {node}; correct the offset, or "
                "leave it out"
            )
    return PlacedClock(
        node,
        nominal_ns - round(stated.ahead_s * 1e9),
        round(stated.bound_s * 1e9),
        "stated",
        stated.ahead_s,
    )


def _find_traces(bundle: Bundle, node: str) -> list[Trace]:
    """The traces of the accelerators of a node. Raises PowerLogError if there are none."""
    ranks = {rank.rank for rank in bundle.declaration.ranks if rank.node == node}
    traces = {part.accelerator: part.trace for part in bundle.parts if part.rank in ranks}
    if not traces:
        raise PowerLogError(f"{bundle.path}: no accelerator of {node} took part in the run")
    return list(traces.values())


def _check_overlap(
    bundle: Bundle, log: PowerLog, nominal_ns: int, traces: list[Trace], stated: StatedClock | None
) -> None:
    """Raise PowerLogError if the log does not cover the run, whatever its clock shows."""
    slack_ns = round((SEARCH_S + abs(stated.ahead_s if stated else 0.0)) * 1e9)
    start_ns = min(trace.zero_ns for trace in traces) - nominal_ns
    end_ns = max(trace.zero_ns + round(trace.read_s[-1] * 1e9) for trace in traces) - nominal_ns
    if log.times_ns[0] > start_ns + slack_ns or log.times_ns[-1] < end_ns - slack_ns:
        log_span, run_span = (
            f"from {format_time(int(first), True)} to {format_time(int(last), True)}"
            for first, last in ((log.times_ns[0], log.times_ns[-1]), (start_ns, end_ns))
        )
        raise PowerLogError(
            f"the log has readings {log_span}, and {bundle.path} was measured {run_span}; give the "
            "log of this run, and check --time-zone"
        )
