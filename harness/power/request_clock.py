"""Places the clock of a meter by its requests, as NTP does: a stamp is made before its answer
arrives, and after the request whose answer had an older stamp."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from rules.bundle_format.records import NO_STAMP, Json
from rules.bundle_format.table import Ints, Table
from rules.declarations.system import MeterDeclaration
from rules.metrics.node.traces import select_feed

WINDOW_S = 60.0
"""The offset is bounded in windows of about this length, because clocks drift. In a window, a drift
of 100 ppm is 6 ms."""
MAX_JITTER_NS = 50_000_000
"""How far the bounds of a window may contradict each other because a meter answers unevenly. Where
they contradict each other by more, the clock changed within the window."""


@dataclass(frozen=True)
class ClockBound:
    """An offset and its bound. The true offset was always within `bound_ns` of `offset_ns`."""

    offset_ns: int
    """Added to a stamp of the meter, it gives the time on the monotonic clock of the node."""
    bound_ns: int


def place_clocks(meters: Sequence[MeterDeclaration], node_samples: Table) -> list[Json]:
    """Return `node_clocks` of result.json: the offset of each meter with a clock of its own, from
    the requests to it. A clock that its stamps do not place is left out."""
    clocks = []
    for meter in meters:
        resolution_ns = round(1e6 * (meter.stamp_resolution_ms or 0))
        delay_ns = round(1e6 * (meter.publication_delay_ms or 0))
        for node in dict.fromkeys(feed.node for feed in meter.feeds):
            # All feeds of a meter have the same clock, and one request.
            feed = next(feed for feed in meter.feeds if feed.node == node)
            readings = select_feed(node_samples, meter.id, feed)
            if meter.clock == "own" and (bound := bound_clock(readings, resolution_ns, delay_ns)):
                clocks.append(
                    {"meter": meter.id, "node": node, **asdict(bound), "source": "requests"}
                )
    return clocks


def bound_clock(
    readings: Table, stamp_resolution_ns: int, publication_delay_ns: int = 0
) -> ClockBound | None:
    """Bound the offset of a meter's clock by the readings of one feed, in the order of reading.

    A stamp is cut off to `stamp_resolution_ns`, and answers contain it at most
    `publication_delay_ns` after it was made. None with fewer than two different stamps.

    Where a clock drifts or is set during the run, the windows contradict each other, and the bound
    covers all of them.
    """
    is_stamped = readings.ints("meter_ns") != NO_STAMP
    stamps_ns = readings.ints("meter_ns")[is_stamped]
    sent_ns, read_ns = readings.ints("sent_ns")[is_stamped], readings.ints("read_ns")[is_stamped]
    is_new = np.flatnonzero(np.diff(stamps_ns)) + 1
    if not len(is_new):
        return None
    # The meter had not published the stamp when it answered the request before. The cut off part of
    # the stamp makes the time of its making later.
    unpublished_ns = sent_ns[is_new - 1] - publication_delay_ns
    lowest_ns = unpublished_ns - stamps_ns[is_new] - stamp_resolution_ns
    highest_ns = read_ns[is_new] - stamps_ns[is_new]
    lows, highs = _intersect_windows(read_ns[is_new], lowest_ns, highest_ns)
    # Bounds that contradict each other a little are both ends of what the clock did.
    low_ns, high_ns = int(min(lows.min(), highs.min())), int(max(lows.max(), highs.max()))
    return ClockBound((low_ns + high_ns) // 2, -((low_ns - high_ns) // 2))


def _intersect_windows(times_ns: Ints, lowest_ns: Ints, highest_ns: Ints) -> tuple[Ints, Ints]:
    """The highest lower and the lowest upper bound of each window of the readings. Where the clock
    changed within a window, the bounds cover all that each reading allows."""
    span_s = (times_ns[-1] - times_ns[0]) / 1e9
    count = max(1, min(int(span_s / WINDOW_S), len(times_ns)))
    lows, highs = [], []
    for lowest, highest in zip(
        np.array_split(lowest_ns, count), np.array_split(highest_ns, count), strict=True
    ):
        low, high = int(lowest.max()), int(highest.min())
        if low - high > MAX_JITTER_NS:
            low, high = int(lowest.min()), int(highest.max())
        lows.append(low)
        highs.append(high)
    return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)
