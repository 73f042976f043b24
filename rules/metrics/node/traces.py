"""The readings of node meters over time, feed by feed, on the monotonic clock of their node."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rules.bundle_format.records import NO_STAMP
from rules.bundle_format.table import Floats, Ints, Mask, Table
from rules.declarations.run import NodeClock
from rules.declarations.system import Feed, MeterDeclaration
from rules.metrics.energy import (
    MetricsError,
    cumulate_interval_means,
    trapezoid_energies,
)

MAX_COUNTER_STEP_SHARE = 0.005
"""A counter whose step is at most this share of an energy gives that energy."""


@dataclass(frozen=True)
class FeedTrace:
    """The readings of one feed of a meter. Times are in s since `zero_ns`, on the node's clock."""

    meter: MeterDeclaration
    feed: Feed
    readings: Table
    """All its rows, in the order of the file."""
    zero_ns: int
    times_s: Floats
    """Of the usable power readings, rising, shape (k,) with k >= 2."""
    power_w: Floats
    """Shape (k,)."""
    counter_times_s: Floats
    counter_j: Floats
    """The readings of the energy counter and their times, both of shape (c,); c may be 0."""

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"feed {self.feed.feed} of meter {self.meter.id}"

    @property
    def is_interval_mean(self) -> bool:
        """Whether a reading is the mean of the interval before it, rather than a power at its
        instant."""
        averaging_ms = self.meter.averaging_ms
        return averaging_ms is None or averaging_ms >= self.meter.interval_ms / 2

    @cached_property
    def cumulated_j(self) -> Floats:
        """Energy from the first reading to each one by the readings as means of the interval before
        them, shape (k,)."""
        return cumulate_interval_means(self.times_s, self.power_w)

    def integrate_power(self, starts_ns: Sequence[int], ends_ns: Sequence[int]) -> Floats:
        """Energy in J by the power readings over each of m >= 1 intervals, shape (m,). Raises
        MetricsError where an interval leaves the readings."""
        starts, ends = self._place(starts_ns), self._place(ends_ns)
        if not self.is_interval_mean:
            return trapezoid_energies(self.times_s, self.power_w, starts, ends)
        self._check_covered(self.times_s, starts, ends)
        # The cumulated energy is linear between two readings where the power is constant.
        return np.interp(ends, self.times_s, self.cumulated_j) - np.interp(
            starts, self.times_s, self.cumulated_j
        )

    def read_counter(self, starts_ns: Sequence[int], ends_ns: Sequence[int]) -> Floats | None:
        """Energy in J by the counter over each of m >= 1 intervals, shape (m,); None where there is
        no counter, or its step is too large for one of them."""
        starts, ends = self._place(starts_ns), self._place(ends_ns)
        times_s, counter_j = self.counter_times_s, self.counter_j
        if len(times_s) < 2 or starts.min() < times_s[0] or ends.max() > times_s[-1]:
            return None
        if bool((np.diff(counter_j) < 0).any()):
            return None
        energies_j = np.interp(ends, times_s, counter_j) - np.interp(starts, times_s, counter_j)
        step_j = (self.meter.energy_step_mj or 0.0) / 1e3
        return energies_j if step_j <= MAX_COUNTER_STEP_SHARE * energies_j.min() else None

    def measure_energy(self, starts_ns: Sequence[int], ends_ns: Sequence[int]) -> Floats:
        """Energy in J over each of m >= 1 intervals, shape (m,): by the counter where it is fine
        enough, otherwise by the power readings. Raises MetricsError as `integrate_power` does."""
        energies_j = self.read_counter(starts_ns, ends_ns)
        return self.integrate_power(starts_ns, ends_ns) if energies_j is None else energies_j

    def count_readings(self, start_ns: int, end_ns: int) -> int:
        """How many usable power readings lie in an interval."""
        start, end = self._place([start_ns, end_ns])
        return int(np.count_nonzero((self.times_s >= start) & (self.times_s <= end)))

    def _place(self, times_ns: Sequence[int]) -> Floats:
        # Subtract while the times are integers: a double does not hold the ns of a long uptime.
        return (np.array(times_ns, dtype=np.int64) - self.zero_ns) / 1e9

    def _check_covered(self, times_s: Floats, starts: Floats, ends: Floats) -> None:
        if starts.min() < times_s[0] or ends.max() > times_s[-1]:
            raise MetricsError(f"the readings of {self.label} do not cover the scored epochs")


def build_feed_traces(
    node_samples: Table, meters: Sequence[MeterDeclaration], clocks: Sequence[NodeClock]
) -> Iterator[FeedTrace]:
    """The trace of each feed of the meters, in their order.

    `clocks` place the stamps of meters with a clock of their own. Raises MetricsError for a feed
    with fewer than two usable readings, for times that fall, and for a clock that is not placed.
    """
    offsets_ns = {(clock.meter, clock.node): clock.offset_ns for clock in clocks}
    for meter in meters:
        for feed in meter.feeds:
            readings = select_feed(node_samples, meter.id, feed)
            yield build_feed_trace(readings, meter, feed, offsets_ns.get((meter.id, feed.node)))


def build_placed_traces(
    node_samples: Table, meters: Sequence[MeterDeclaration], clocks: Sequence[NodeClock]
) -> tuple[FeedTrace, ...]:
    """As `build_feed_traces`, without the feeds of a meter from the first on that it raises for."""
    traces: list[FeedTrace] = []
    for meter in meters:
        with suppress(MetricsError):
            traces.extend(build_feed_traces(node_samples, [meter], clocks))
    return tuple(traces)


def select_feed(node_samples: Table, meter: str, feed: Feed) -> Table:
    """The rows of one feed of a meter, in the order of the file."""
    return node_samples.at(
        node_samples.text("meter").equals(meter)
        & node_samples.text("feed").equals(feed.feed)
        & node_samples.text("node").equals(feed.node)
    )


def build_feed_trace(
    readings: Table, meter: MeterDeclaration, feed: Feed, offset_ns: int | None
) -> FeedTrace:
    """The trace of one feed from its rows. Raises MetricsError as `build_feed_traces` does."""
    label = f"feed {feed.feed} of meter {meter.id}"
    usable = readings.text("status").equals("ok") & ~find_repeats(readings)
    if len(readings) < 2:
        raise MetricsError(f"{label} has fewer than two readings")
    times_ns = place_readings(readings, meter, offset_ns, label)
    # Power behind a power supply lacks its loss.
    passed = 1 - (meter.conversion_loss or 0.0) if meter.current == "dc" else 1.0
    power_w = readings.floats("power_mw") / 1e3 / passed
    counter_j = readings.floats("energy_mj") / 1e3 / passed
    has_power, has_counter = usable & np.isfinite(power_w), usable & np.isfinite(counter_j)
    if np.count_nonzero(has_power) < 2:
        raise MetricsError(f"{label} has fewer than two usable power readings")
    if bool((np.diff(times_ns[usable]) <= 0).any()):
        raise MetricsError(f"the times of {label} do not rise")
    zero_ns = int(times_ns[0])
    seconds = (times_ns - zero_ns) / 1e9
    return FeedTrace(
        meter,
        feed,
        readings,
        zero_ns,
        seconds[has_power],
        power_w[has_power],
        seconds[has_counter],
        counter_j[has_counter],
    )


def place_readings(
    readings: Table, meter: MeterDeclaration, offset_ns: int | None, label: str
) -> Ints:
    """When the readings of a feed were taken, in ns on the monotonic clock of the node, shape (n,).

    The stamp of the meter counts where it has one. Otherwise the reading was taken in the middle
    between request and answer.
    """
    sent_ns, read_ns = readings.ints("sent_ns"), readings.ints("read_ns")
    middle_ns = sent_ns + (read_ns - sent_ns) // 2
    if meter.clock == "node":
        return middle_ns
    if offset_ns is None:
        raise MetricsError(f"{label} has a clock of its own, and result.json does not place it")
    stamps_ns = readings.ints("meter_ns")
    return np.where(stamps_ns == NO_STAMP, middle_ns, stamps_ns + offset_ns)


def find_repeats(readings: Table) -> Mask:
    """Which readings repeat the one before: the meter states the same number or stamp. Shape
    (n,)."""
    fresh, stamps_ns = readings.floats("fresh"), readings.ints("meter_ns")
    repeats = np.zeros(len(readings), dtype=bool)
    # NaN differs from itself, so a meter without such a number repeats nothing.
    repeats[1:] = (fresh[1:] == fresh[:-1]) | (
        (stamps_ns[1:] == stamps_ns[:-1]) & (stamps_ns[1:] != NO_STAMP)
    )
    return repeats


def count_repeats(readings: Table) -> int:
    """How many readings repeat the one before: its number, its stamp, or its power together with
    the energy counter."""
    power_mw, energy_mj = readings.floats("power_mw"), readings.floats("energy_mj")
    same = find_repeats(readings)
    same_energy = (energy_mj[1:] == energy_mj[:-1]) | np.isnan(energy_mj[1:])
    same[1:] |= (power_mw[1:] == power_mw[:-1]) & same_energy
    return int(np.count_nonzero(same))


def list_feeds(node_samples: Table) -> set[tuple[str, str, str]]:
    """Meter, feed and node of all readings."""
    columns = [node_samples.text(name) for name in ("meter", "feed", "node")]
    rows = np.unique(np.stack([column.codes for column in columns]), axis=1).T.tolist()
    meters, feeds, nodes = (column.names for column in columns)
    return {(meters[meter], feeds[feed], nodes[node]) for meter, feed, node in rows}
