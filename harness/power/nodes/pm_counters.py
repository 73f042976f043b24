"""Power of a Cray or HPE node from the files of its node controller, /sys/cray/pm_counters.

A feed is `node`, which is the whole node, or the prefix of a part: `cpu`, `memory`, `accel0` and so
on. The parts do not add up to the node, so a meter has either the node or parts. An entry in
meters.toml may name another directory as `tree`.

The controller renews all files ten times a second and then advances `freshness`. Each reading has
this number, so that repeats are found. It advances `generation` when a power cap of the node
changes. A file contains a value and its time, as in `125 W 1700000000123456 us`; older controllers
give no time. Source: HPE Cray Operating System Administration Guide, "PM counters".
"""

import re
from pathlib import Path

from harness.power.feeds.feed import FeedError
from harness.power.feeds.files import parse_count, read_text
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

TREE = "/sys/cray/pm_counters"
NODE = "node"
ATTEMPTS = 3
"""How often the files are read until no renewal falls into the reading. One takes 0.2 ms, and
renewals are 100 ms apart."""
VALUE = re.compile(r"(?P<value>\d+) (?P<unit>W|J)(?: (?P<stamp_us>\d+) us)?", re.ASCII)


class PmCountersMeter(FramedMeter):
    """Reads one node by the files of its node controller."""

    needs_access = False
    option_names = frozenset({"tree"})

    def __init__(self, access: MeterAccess) -> None:
        super().__init__(access)
        self._feeds = dict(access.feeds)
        self._tree = Path(access.options.get("tree", TREE))
        self._generation: int | None = None
        """At the opening."""

    def prepare(self) -> None:
        if NODE in self._feeds.values() and len(self._feeds) > 1:
            raise FeedError(
                "refused",
                "the feed node contains the parts, which do not add up to it; declare the parts as "
                "a meter of their own with of_record = false",
            )
        try:
            self.read_feeds()
            self._generation = self._read_generation()
        except FeedError as error:
            feeds = ", ".join(self._list_feeds()) or "none, because this is no Cray or HPE node"
            raise FeedError(error.status, f"{error.problem}; the feeds here are {feeds}") from None

    def count_cap_changes(self) -> int | None:
        first, last = self._generation, self._read_generation()
        # A controller that was restarted counts anew.
        return None if first is None or last is None or last < first else last - first

    def _read_generation(self) -> int | None:
        """None where the controller has no such number."""
        try:
            return self._read_number("generation")
        except FeedError:
            return None

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        """Read all feeds of one renewal. Raises FeedError."""
        for _ in range(ATTEMPTS):
            fresh = self._read_number("freshness")
            readings = [(feed, self._read_feed(part, fresh)) for feed, part in self._feeds.items()]
            if self._read_number("freshness") == fresh:
                return readings
        raise FeedError("timeout", "freshness advances faster than the files can be read")

    def _read_feed(self, part: str, fresh: int) -> FeedReading:
        prefix = "" if part == NODE else f"{part}_"
        power_w, _ = self._read_value(f"{prefix}power", "W")
        energy_j, stamp_ns = self._read_value(f"{prefix}energy", "J")
        return FeedReading(
            power_mw=1000 * power_w, energy_mj=1000 * energy_j, meter_ns=stamp_ns, fresh=fresh
        )

    def _read_value(self, name: str, unit: str) -> tuple[int, int | None]:
        """The value of a file and its time in ns. Raises FeedError."""
        match = VALUE.fullmatch(text := read_text(self._tree / name))
        if match is None or match["unit"] != unit:
            raise FeedError("malformed", f"{name} has {text[:40]!r}, expected a number and {unit}")
        stamp_us = match["stamp_us"]
        return int(match["value"]), None if stamp_us is None else 1000 * int(stamp_us)

    def _read_number(self, name: str) -> int:
        return parse_count(read_text(self._tree / name), name)

    def _list_feeds(self) -> list[str]:
        names = sorted(path.name for path in self._tree.glob("*power"))
        return [NODE if name == "power" else name.removesuffix("_power") for name in names]
