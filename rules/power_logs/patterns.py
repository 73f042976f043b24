r"""Logs of lines that patterns read, such as `1.001,19.6,Joules,power/energy-pkg/`.

Keys of an entry of formats.toml: `patterns`, whose groups are `power` in W or `energy` in J since
the reading before, `feed` and `part`, and the time of the reading: `time` in s, `time_us`, or
`moment` of the format `moment_format`, in UTC if `zone` says so. A line may have the time alone,
before or behind the powers that it belongs to. `adds` is a pattern of the feeds whose powers add up
if there are several.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.integrals import derive_power
from rules.power_logs.local_time import LocalClock, LocalTimeError, check_ns, count_ns
from rules.power_logs.records import ENERGY, POWER, Interval, LogReading, PowerLog

_TOTAL = "total"
_LONGEST_ELAPSED_S = 1e8


class LinePatterns:
    """The lines that a known program writes."""

    def __init__(self, name: str, entry: dict[str, Any]) -> None:
        self._name = name
        self._patterns = [re.compile(pattern) for pattern in entry["patterns"]]
        groups = {group for pattern in self._patterns for group in pattern.groupindex}
        self._quantity = POWER if "power" in groups else ENERGY
        self._moment_format: str = entry.get("moment_format", "iso")
        self._adds = re.compile(entry.get("adds", ".*"))
        # A pattern of the time alone that stands behind that of the power follows it in the log.
        self._time_follows = "power" in self._patterns[0].groupindex and (
            "power" not in self._patterns[-1].groupindex
        )

    @property
    def reads(self) -> str:
        """What is read."""
        return "power in W" if self._quantity == POWER else "energy in J of each interval"

    def recognise(self, head: Sequence[str]) -> bool:
        """Whether one of the first lines has a reading."""
        return any(
            {"power", "energy"} & {group for group, text in match.groupdict().items() if text}
            for match in map(self._match, head)
            if match
        )

    def parse(self, source: LogSource) -> PowerLog:
        """Read a log. Raises PowerLogError if it has no readings."""
        builder, clock = LogBuilder(source), LocalClock(source.zone)
        start_ns = source.start_ns or 0
        time_ns: int | None = None
        waiting: list[tuple[int, str, float]] = []
        feeds: set[str] = set()
        is_local = is_elapsed = False
        for number, line in source.lines:
            match = self._match(line)
            if match is None:
                continue
            groups = {name: text for name, text in match.groupdict().items() if text}
            try:
                if "moment" in groups:
                    time_ns, local = self._parse_moment(groups, clock)
                    is_local |= local
                elif "time" in groups or "time_us" in groups:
                    count_s = float(groups.get("time", "nan"))
                    if count_s < _LONGEST_ELAPSED_S:
                        is_elapsed = True
                        time_ns = start_ns + round(count_s * 1e9)
                    elif "time_us" in groups:
                        time_ns = check_ns(int(groups["time_us"]) * 1000)
                    else:
                        time_ns = check_ns(round(count_s * 1e6) * 1000)
                value = groups.get("power") or groups.get("energy")
                if value is not None:
                    feed = groups.get("feed", _TOTAL).strip()
                    feeds.add(feed)
                    name = f"{groups['part']} {feed}" if "part" in groups else feed
                    waiting.append((number, name, _parse_value(value)))
            except LocalTimeError as error:
                source.add_time_problem(number, error)
            except (ValueError, OverflowError) as error:
                source.add_torn(number, str(error))
            if time_ns is None:
                continue
            for line_number, name, number_read in waiting:
                layout = ((name, self._quantity),)
                builder.add(LogReading(line_number, time_ns, layout, (number_read,), name))
            waiting = []
            if self._time_follows:
                time_ns = None
        zone = source.zone if is_local else "UTC"
        log = builder.build(
            self._name,
            None if zone is None or (is_elapsed and source.start_ns is None) else str(zone),
            Interval.INSTANT,
            has_local_times=is_local,
            elapsed=is_elapsed and source.start_ns is None,
            from_start=is_elapsed,
            adds=len(feeds) == 1 or all(map(self._adds.fullmatch, feeds)),
        )
        if self._quantity == ENERGY:
            # The first interval begins at the time 0 of the program.
            begun = replace(log, begin_ns=start_ns if is_elapsed else None)
            return derive_power(begun, of_interval=True)
        return log

    def _match(self, line: str) -> re.Match[str] | None:
        return next((match for pattern in self._patterns if (match := pattern.match(line))), None)

    def _parse_moment(self, groups: Mapping[str, str], clock: LocalClock) -> tuple[int, bool]:
        """The time in ns, and whether it is local. Raises ValueError."""
        text = groups["moment"]
        if self._moment_format == "iso":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text, self._moment_format)
        # Other names of zones are local ones, which may stand for several.
        if groups.get("zone") in ("UTC", "GMT"):
            moment = moment.replace(tzinfo=UTC)
        if moment.tzinfo is not None:
            return count_ns(moment), False
        return clock.to_ns(moment), True


def _parse_value(text: str) -> float:
    """A number that the locale of the program may have grouped or given a decimal comma."""
    if "," in text and "." not in text and text.count(",") == 1:
        return float(text.replace(",", "."))
    return float(text.replace(",", ""))
