"""Checks node meters: `run` reads each once before it starts, `doctor --meters` reads each several
times and shows what it found."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.checks import Check
from harness.power.meter_access import find_access_file, read_access
from harness.power.node_reader import select_feeds
from harness.power.nodes import open_node_meter
from harness.power.source import MeterError
from harness.run.plan import RunRequest, get_node_name, parse_meters
from rules.bundle_format.records import FeedReading, Json
from rules.system_declaration import MeterDeclaration

READINGS = 5
LONGEST_CHECK_S = 12.0
"""How long `doctor` reads one meter."""
ADVICE = {
    "timeout": "no answer in time: check host, port and firewall; a wrong SNMP community or "
    "password is not answered either",
    "refused": "the meter refuses the request: check user, password, and the right to read",
    "over-range": "the reading is outside the meter's range: set a larger range on the meter",
    "absent": "the meter has no such feed: check feeds in meters.toml",
    "malformed": "the answer is not what this kind of meter sends: check kind, model and port in "
    "meters.toml",
    "stale": "the meter repeats an old measurement: check its update interval",
}
"""What to do about a status of `rules.bundle_format.records.METER_STATUSES`."""


@dataclass(frozen=True)
class TimedReading:
    """A reading with its times on the monotonic clock, and on the wall clock when it arrived."""

    sent_ns: int
    read_ns: int
    wall_ns: int
    feeds: tuple[tuple[str, FeedReading], ...]


def read_meter(
    meter: MeterDeclaration, feeds: Sequence[str], access_file: Path, count: int
) -> Iterator[TimedReading]:
    """Open a meter, and yield up to `count` readings at its interval. Raises MeterError."""
    access = read_access(access_file, meter.id, meter.kind, feeds)
    with closing(open_node_meter(access)) as node_meter:
        start_s = time.monotonic()
        for index in range(count):
            deadline_s = start_s + index * meter.interval_ms / 1e3
            if index and deadline_s - start_s > LONGEST_CHECK_S:
                return
            time.sleep(max(0.0, deadline_s - time.monotonic()))
            sent_ns = time.monotonic_ns()
            readings = tuple(node_meter.read())
            yield TimedReading(sent_ns, time.monotonic_ns(), time.time_ns(), readings)


def check_node_meters(description: Json | None, run_request: RunRequest) -> Check | None:
    """Check that each meter of this node can be read; None if the description of the system has
    none. Raises MeterError."""
    access_file, node = find_access_file(run_request.meters), get_node_name(run_request.node)
    powers = [
        f"{meter.id} {require_readings(meter, feeds, access_file):.0f} W"
        for meter in parse_meters(description or {})
        if (feeds := select_feeds(meter, node))
    ]
    return Check("node meters", True, ", ".join(powers)) if powers else None


def require_readings(meter: MeterDeclaration, feeds: Sequence[str], access_file: Path) -> float:
    """Read a meter once, and return its power in W. Raises MeterError if it cannot be opened, or if
    a feed cannot be read."""
    (reading,) = read_meter(meter, feeds, access_file, 1)
    if problems := describe_problems(meter, reading.feeds):
        raise MeterError("; ".join(problems))
    return sum_power_w(reading.feeds)


def sum_power_w(feeds: Sequence[tuple[str, FeedReading]]) -> float:
    """The power of all feeds together in W, without those that have none."""
    return sum((reading.power_mw or 0) / 1e3 for _, reading in feeds)


def describe_problems(
    meter: MeterDeclaration, feeds: Sequence[tuple[str, FeedReading]]
) -> list[str]:
    """One line for each feed without a usable reading: meter, feed, status and what to do."""
    problems = [
        f"meter {meter.id}, feed {feed}: {reading.status}; {ADVICE[reading.status]}"
        for feed, reading in feeds
        if reading.status != "ok"
    ]
    problems += [
        f"meter {meter.id}, feed {feed}: the answer has no power; check kind and model in "
        "meters.toml"
        for feed, reading in feeds
        if reading.status == "ok" and reading.power_mw is None
    ]
    return problems
