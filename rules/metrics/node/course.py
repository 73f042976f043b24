"""The course of a run on one node: power of the node and of each board, and utilisation, over
time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rules.bundle_format.table import Floats, Table
from rules.metrics.energy import MetricsError, Trace, build_trace
from rules.metrics.node.traces import FeedTrace
from rules.metrics.power.profile import average_around


@dataclass(frozen=True)
class Course:
    """Means over equal steps of the time in which the boards of a node were read. NaN where nothing
    was read."""

    zero_ns: int
    """The start of the first step, on the clock of the node."""
    step_s: float
    starts_s: Floats
    """Since `zero_ns`, shape (n,)."""
    boards_w: Mapping[str, Floats]
    """Of each board, shape (n,)."""
    utilisation_percent: Mapping[str, Floats]
    """As the boards state it, shape (n,); without boards that state none."""
    node_w: Floats | None
    """The sum over all feeds of the node, shape (n,); None without a meter of record."""
    parts_w: Mapping[str, Floats]
    """The sum over all feeds of each meter of a part of the node, such as its processors, by the
    name of the meter, shape (n,)."""

    @property
    def sum_of_boards_w(self) -> Floats:
        """Shape (n,); NaN where one board was not read."""
        total_w: Floats = np.sum(list(self.boards_w.values()), axis=0)
        return total_w


def compute_course(
    samples: Mapping[str, Table],
    feeds: Sequence[FeedTrace],
    steps: int,
    part_feeds: Mapping[str, Sequence[FeedTrace]] = MappingProxyType({}),
) -> Course:
    """The course of a run on one node in `steps` >= 1 steps. `samples` are those of its boards, at
    least one; `feeds` are those of its meters of record, `part_feeds` those of each meter of a part
    of the node.

    Raises MetricsError where a board has too few readings.
    """
    traces = {uuid: build_trace(table) for uuid, table in samples.items()}
    zero_ns = min(trace.zero_ns for trace in traces.values())
    end_s = max(_shift_s(trace, zero_ns) + float(trace.read_s[-1]) for trace in traces.values())
    step_s = end_s / steps
    starts_s: Floats = np.arange(steps, dtype=np.float64) * step_s
    centers_s = starts_s + step_s / 2
    utilisation = {
        uuid: percent
        for uuid, trace in traces.items()
        if (percent := _average_utilisation(trace, centers_s - _shift_s(trace, zero_ns), step_s))
        is not None
    }
    return Course(
        zero_ns=zero_ns,
        step_s=step_s,
        starts_s=starts_s,
        boards_w={
            uuid: average_around(
                trace.usable_power_times_s,
                trace.usable_power_w,
                centers_s - _shift_s(trace, zero_ns),
                step_s,
            )
            for uuid, trace in traces.items()
        },
        utilisation_percent=utilisation,
        node_w=_sum_feeds(feeds, zero_ns, starts_s, step_s) if feeds else None,
        parts_w={
            name: _sum_feeds(of_part, zero_ns, starts_s, step_s)
            for name, of_part in part_feeds.items()
        },
    )


def _shift_s(trace: Trace, zero_ns: int) -> float:
    """How long after `zero_ns` the first reading of a board is."""
    return (trace.zero_ns - zero_ns) / 1e9


def _average_utilisation(trace: Trace, centers_s: Floats, step_s: float) -> Floats | None:
    percent = trace.samples.floats("util_pct")
    known = np.isfinite(percent)
    if not known.any():
        return None
    return average_around(trace.read_s[known], percent[known], centers_s, step_s)


def _sum_feeds(feeds: Sequence[FeedTrace], zero_ns: int, starts_s: Floats, step_s: float) -> Floats:
    """Mean power of all feeds together in each step. Steps that a feed does not cover are NaN."""
    total_w: Floats = np.zeros(len(starts_s))
    for feed in feeds:
        # A feed has a zero of its own.
        shift_s = (feed.zero_ns - zero_ns) / 1e9
        first_s, last_s = (shift_s + float(feed.times_s[place]) for place in (0, -1))
        is_covered = (starts_s >= first_s) & (starts_s + step_s <= last_s)
        power_w: Floats = np.full(len(starts_s), np.nan)
        if is_covered.any():
            starts_ns = [zero_ns + round(start_s * 1e9) for start_s in starts_s[is_covered]]
            ends_ns = [
                zero_ns + round((start_s + step_s) * 1e9) for start_s in starts_s[is_covered]
            ]
            try:
                joules = feed.integrate_power(starts_ns, ends_ns)
            except MetricsError:  # rounding to whole ns left the readings
                joules = np.full(int(is_covered.sum()), np.nan)
            power_w[is_covered] = joules / step_s
        total_w += power_w
    return total_w
