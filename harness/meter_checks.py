"""Checks node meters: `run` reads each once before it starts, `doctor --meters` reads each several
times and shows what it found."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.checks import Check
from harness.errors import MeterError, PlanError
from harness.meter_tables import parse_meters
from harness.power.meter_access import find_access_file, list_access, read_access
from harness.power.node_meter import MeterAccess
from harness.power.node_reader import select_feeds
from harness.power.nodes import open_node_meter
from harness.system import read_description
from rules.bundle_format.records import FeedReading
from rules.declarations.system import MeterDeclaration

READINGS = 5
"""How often `doctor` reads a meter."""
LONGEST_CHECK_S = 12.0
"""Meters with long intervals are read less often."""
DEFAULT_INTERVAL_S = 1.0
LARGEST_CLOCK_DIFFERENCE_S = 1.0
ADVICE = {
    "timeout": "no answer in time: check host, port and firewall; a wrong SNMP community or "
    "privacy password is not answered either",
    "refused": "the meter refuses the connection or the request: check host, port, user, password "
    "and the right to read",
    "over-range": "the reading is outside the meter's range: set a larger range on the meter",
    "absent": "the meter has no such feed, or no value for it: check feeds in meters.toml",
    "malformed": "the answer is not what this kind of meter sends: check kind, model and port in "
    "meters.toml",
    "stale": "the meter repeats an old measurement: check its update interval",
}
"""What to do about a status of `rules.bundle_format.records.METER_STATUSES`."""


@dataclass(frozen=True)
class TimedReading:
    """A reading of all feeds, with its times on the monotonic clock. `wall_ns` is the wall clock in
    the middle between request and answer."""

    sent_ns: int
    read_ns: int
    wall_ns: int
    feeds: dict[str, FeedReading]
    warning: str
    """Of the meter (`NodeMeter.warning`)."""


def check_node_meters(
    meters: Sequence[MeterDeclaration], meters_file: Path | None, node: str
) -> Check | None:
    """Check that each of the declared meters that supplies `node` can be read; None if there is
    none. Raises MeterError, and PlanError for a file of meters that nothing would read."""
    powers, warnings = [], []
    if meters_file and not meters:
        raise PlanError(
            f"--meters {meters_file}: the description of the system (--system) declares no "
            "[[meter]]; declare the meters in it (docs/node-power.md), or leave out --meters"
        )
    access_file = find_access_file(meters_file)
    for meter in meters:
        if feeds := select_feeds(meter, node):
            access = read_access(access_file, meter.id, meter.kind, feeds)
            (reading,) = read_meter(access, meter.interval_ms / 1e3, 1)
            if problems := describe_problems(meter.id, reading):
                raise MeterError("; ".join(problems))
            power_w = sum((feed.power_mw or 0) / 1e3 for feed in reading.feeds.values())
            powers.append(f"{meter.id} {power_w:.0f} W")
            if reading.warning:
                warnings.append(f"warning: meter {meter.id}: {reading.warning}")
    if not powers:
        return None
    return Check("node meters", True, ", ".join(powers), "; ".join(warnings))


def examine_meters(meters_file: str, system: Path | None) -> Iterator[Check]:
    """Read the meters that the description `system` declares, or all in meters.toml without one,
    and yield what was found about each feed. An empty `meters_file` is that of the user."""
    try:
        access_file = find_access_file(Path(meters_file) if meters_file else None)
        if system is None:
            tasks = [(access, DEFAULT_INTERVAL_S) for access in list_access(access_file)]
        else:
            tasks = [
                (
                    read_access(access_file, meter.id, meter.kind, [f.feed for f in meter.feeds]),
                    meter.interval_ms / 1e3,
                )
                for meter in parse_meters(read_description(system))
            ]
    except (MeterError, PlanError) as error:
        yield Check("node meters", False, "cannot be read", str(error))
        return
    if not tasks:
        advice = f"add a table to {access_file}" if system is None else f"add [[meter]] to {system}"
        yield Check("node meters", False, "none is declared", advice)
    for access, interval_s in tasks:
        yield from _examine_meter(access, interval_s)


def read_meter(access: MeterAccess, interval_s: float, count: int) -> Iterator[TimedReading]:
    """Open a meter, and yield up to `count` readings at its interval. Raises MeterError."""
    with closing(open_node_meter(access)) as node_meter:
        start_s = time.monotonic()
        for index in range(count):
            if index * interval_s > LONGEST_CHECK_S:
                return
            time.sleep(max(0.0, start_s + index * interval_s - time.monotonic()))
            sent_ns = time.monotonic_ns()
            feeds = dict(node_meter.read())
            read_ns = time.monotonic_ns()
            wall_ns = time.time_ns() - (read_ns - sent_ns) // 2
            yield TimedReading(sent_ns, read_ns, wall_ns, feeds, node_meter.warning)


def describe_problems(meter: str, reading: TimedReading) -> list[str]:
    """One line for each feed without a usable reading: meter, feed, status and what to do."""
    return [
        f"meter {meter}, feed {name}: {problem}"
        for name, feed in reading.feeds.items()
        if (problem := _find_problem(feed))
    ]


def _find_problem(reading: FeedReading) -> str:
    if reading.status != "ok":
        return f"{reading.status}; {ADVICE[reading.status]}"
    if reading.power_mw is None:
        return "the answer has no power; check kind and model in meters.toml"
    return ""


def _examine_meter(access: MeterAccess, interval_s: float) -> Iterator[Check]:
    try:
        readings = list(read_meter(access, interval_s, READINGS))
    except MeterError as error:
        yield Check(f"node meter {access.id}", False, "cannot be used", str(error))
        return
    for feed in access.feeds:
        yield _examine_feed(f"node meter {access.id}, feed {feed}", feed, readings, interval_s)


def _examine_feed(
    name: str, feed: str, readings: Sequence[TimedReading], interval_s: float
) -> Check:
    """The last value, its age, the rate, the clock, and what is wrong."""
    feeds = [reading.feeds[feed] for reading in readings]
    problems = [problem for reading in feeds if (problem := _find_problem(reading))]
    if len(problems) == len(feeds):
        status, _, remedy = problems[-1].partition("; ")
        return Check(name, False, status, remedy)
    last = next(reading for reading in reversed(feeds) if reading.power_mw is not None)
    counter = "no energy counter" if last.energy_mj is None else "energy counter"
    results = [f"{(last.power_mw or 0) / 1e3:.6g} W", counter]
    advice = (
        [f"{len(problems)} of {len(feeds)} readings failed: {problems[-1]}"] if problems else []
    )
    for result, warning in (
        _describe_rate(readings, interval_s),
        _describe_repeats(feeds),
        _describe_clock(feed, readings),
    ):
        results.append(result)
        advice += [warning] if warning else []
    advice += [readings[-1].warning] if readings[-1].warning else []
    return Check(name, None if advice else True, ", ".join(results), "; ".join(advice))


def _describe_rate(readings: Sequence[TimedReading], interval_s: float) -> tuple[str, str]:
    longest_s = max(reading.read_ns - reading.sent_ns for reading in readings) / 1e9
    span_s = (readings[-1].sent_ns - readings[0].sent_ns) / 1e9
    rate = f"{(len(readings) - 1) / span_s:.2g} readings per s" if span_s else "one reading"
    result = f"{rate}, answers in at most {max(1.0, 1e3 * longest_s):.0f} ms"
    if longest_s > interval_s:
        return (
            result,
            f"the meter is slower than its interval of {interval_s:g} s; set a longer one",
        )
    return result, ""


def _describe_repeats(feeds: Sequence[FeedReading]) -> tuple[str, str]:
    # The stamp of a meter may advance by itself, so the value alone counts.
    values = {(reading.power_mw, reading.energy_mj) for reading in feeds}
    result = f"{len(values)} different values in {len(feeds)} readings"
    if len(feeds) > 1 and len(values) == 1:
        return result, (
            f"all {len(feeds)} readings are equal: the meter may be stuck, or may measure less "
            "often than it is read; declare the interval at which it measures"
        )
    if not any(reading.power_mw for reading in feeds):
        return result, "no power flows: check that this feed supplies the node"
    return result, ""


def _describe_clock(feed: str, readings: Sequence[TimedReading]) -> tuple[str, str]:
    # The youngest stamp is the one nearest to the clock of the meter.
    ages_s = [
        (reading.wall_ns - stamp_ns) / 1e9
        for reading in readings
        if (stamp_ns := reading.feeds[feed].meter_ns) is not None
    ]
    if not ages_s:
        return "no clock of its own", ""
    age_s = min(ages_s, key=abs)
    side = "behind" if age_s > 0 else "ahead of"
    result = f"last stamp {ages_s[-1]:.2f} s old by the clock of this node"
    if abs(age_s) <= LARGEST_CLOCK_DIFFERENCE_S:
        return result, ""
    return result, (
        f"its clock is {abs(age_s):.1f} s {side} that of this node: synchronise both by NTP, or "
        'declare clock = "own", and runs place it by their requests'
    )
