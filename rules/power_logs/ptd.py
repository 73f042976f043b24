"""Logs of SPEC PTDaemon, as MLPerf inference submissions have them (spl.txt, ptd_logs.txt).

A reading is one line: `Time,MM-DD-YYYY HH:MM:SS.mmm,Watts,W,Volts,V,Amps,A,PF,F,Mark,TEXT`. With
several channels, the same four quantities follow for each channel, with or without a label `Ch1`.
Watts of the line are the sum over the channels, volts and amperes are means over them, so that only
the values of a channel fit together. With several analysers, a label `Analyzer1` and a whole
reading with a time of its own follow for each. The daemon's own log has other messages between the
readings, and before and behind a reading on the same line. Times have no time zone.
"""

import math
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.local_time import LocalClock, LocalTimeError
from rules.power_logs.records import (
    CURRENT,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    Interval,
    Layout,
    LogReading,
    PowerLog,
    PowerLogError,
)

NAME = "ptd"
_START = re.compile(r"(?P<analyzer>(?i:Analyzer)\s*\d+\s*,\s*)?Time,")
_HEAD = re.compile(
    r"PTDaemon|Selected power meter|\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}: |"
    r"Time,(\d\d[-/]\d\d[-/]\d{4}|\d{4}-\d\d-\d\d)[ T]\d\d:\d\d:\d\d[^,]*,"
)
"""What the daemon's own log begins with. The first reading may be on line 20 000."""
_QUANTITIES = {"watts": POWER, "volts": VOLTAGE, "amps": CURRENT, "pf": POWER_FACTOR}
_ANALYZER = re.compile(r"\s*analyzer\s*\d+\s*", re.IGNORECASE)
_HAS_ANALYZER = re.compile(r"analyzer\s*\d", re.IGNORECASE)
_CHANNEL = re.compile(r"ch\s*\d+", re.IGNORECASE)
_TIME = re.compile(
    r"(?:(?P<month>\d\d)[-/](?P<day>\d\d)[-/](?P<year>\d{4})|"
    r"(?P<iso_year>\d{4})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d))"
    r"[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,6}))?"
)
_NO_NUMBER = re.compile(r"-?\d\.#\w+")
"""How programs on Windows print infinity and NaN, such as `-1.#IND00`."""
_BARE_READING = re.compile(
    r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d+,(?=(watts|volts|amps|pf),)", re.IGNORECASE
)
"""The start of a reading without the word `Time`, as the daemon prints it on a terminal."""
_MESSAGE = re.compile(r"(Time,[^,]*,|.*\d: ?)(?P<level>NOTICE|WARNING|ERROR)[,:]")
_MESSAGE_BEHIND = re.compile(
    r"(?<=\.\d{6}),?\s*(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d+: |(NOTICE|WARNING|ERROR)[,:]).*"
)
"""Behind a value, which has six decimals."""
_MESSAGE_INSIDE = re.compile(
    r"(?<=\.\d{6})\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d+: [^,]*+(?=,(?:watts|volts|amps|pf),)",
    re.IGNORECASE,
)
"""Between two values of a reading: the daemon logs an answer to a client while it writes one."""
_MAY_HAVE_MESSAGE = re.compile(r": |NOTICE|WARNING|ERROR")
_MESSAGE_ADVICE = "the manual of PTDaemon says what it means"
_QUANTITY = re.compile(r",(watts|volts|amps|pf),", re.IGNORECASE)
_NO_POWER_ADVICE = "the line is left out; power is never computed from volts and amperes"
_SUM_TOLERANCE = 0.01
_NO_VALUE = -1.0
TOTAL = "total"
"""The feed of a log without channels."""


def recognise(line: str) -> bool:
    """Whether a line shows that the log is of this format."""
    return bool(_HEAD.search(line) or _BARE_READING.search(line))


def parse(source: LogSource) -> PowerLog:
    """Read a log. Raises PowerLogError if it has no readings."""
    builder, clock = LogBuilder(source), LocalClock(source.zone)
    has_values = False
    for number, line in source.lines:
        # A cheap test first, because the log may have a million lines.
        if not _QUANTITY.search(line) and (message := _MESSAGE.match(line)):
            if message["level"] != "NOTICE":
                source.problems.add("meter-message", number, line[:120], _MESSAGE_ADVICE)
            continue
        has_values = has_values or _QUANTITY.search(line) is not None
        start = _find_reading(line)
        if start is None:
            if _QUANTITY.search(line):
                source.add_torn(number, "values without the time of a reading")
            continue
        if line.count("Time,") > 1 and _count_starts(line) > 1:
            source.add_torn(number, "the start of a reading before another reading")
        cells = _cut_message(source, number, line[start:]).split(",")
        try:
            readings = _parse_readings(number, cells, clock)
        except LocalTimeError as error:
            source.add_time_problem(number, error)
        except ValueError as error:
            source.add_torn(number, str(error))
            source.interrupted += _MESSAGE_INSIDE.search(line) is not None
        else:
            if not readings:
                source.torn += 1
                source.problems.add("no-power", number, "a reading without Watts", _NO_POWER_ADVICE)
            for reading in readings:
                builder.add(reading)
    if not has_values and not source.torn:
        raise PowerLogError(
            f"{source.path}: a log of PTDaemon without readings; take spl.txt of the same run"
        )
    zone = None if source.zone is None else str(source.zone)
    return builder.build(NAME, zone, Interval.MEAN_BEFORE, has_local_times=True)


def _cut_message(source: LogSource, number: int, text: str) -> str:
    """A reading without a message of the daemon behind it."""
    if _MAY_HAVE_MESSAGE.search(text) is None:  # a cheap test first again
        return text
    match = _MESSAGE_BEHIND.search(text)
    if match is None or _QUANTITY.search(match[0]):
        return text
    if "WARNING" in match[0] or "ERROR" in match[0]:
        source.problems.add("meter-message", number, match[0][:120], _MESSAGE_ADVICE)
    return text[: match.start()]


def _count_starts(line: str) -> int:
    return sum(match["analyzer"] is None for match in _START.finditer(line))


def _find_reading(line: str) -> int | None:
    """Where the time of a reading begins; None if the line has none."""
    if line.count("Time,") == 1 and _HAS_ANALYZER.search(line) is None:  # most lines
        return line.index("Time,") + len("Time,")
    # The last one, because a line may be torn into another.
    starts = [match.end() for match in _START.finditer(line) if match["analyzer"] is None]
    if starts:
        return starts[-1]
    match = _BARE_READING.search(line)
    return None if match is None else match.start()


def _parse_readings(number: int, cells: list[str], clock: LocalClock) -> list[LogReading]:
    """The readings in the cells of a line, the time first: one, or one for each analyser; none if
    it has no power. Raises LocalTimeError, and ValueError for a line that is torn."""
    if not any(map(_ANALYZER.match, cells)):
        reading = _parse_reading(number, "", cells, clock)
        return [] if reading is None else [reading]
    (_, head), *analyzers = _split_by_analyzer(cells)
    reading = _parse_reading(number, "", head, clock)
    readings = [_parse_reading(number, name, part, clock) for name, part in analyzers]
    found = [part for part in readings if part is not None]
    if len(found) < len(analyzers):
        raise ValueError("an analyser without Watts")
    if reading is not None:
        _check_sum(_sum_power(reading), [_sum_power(part) for part in found], "analysers")
    return found


def _split_by_analyzer(cells: list[str]) -> list[tuple[str, list[str]]]:
    """The cells of the line as a whole, and then those of each analyser, by its label. The time is
    the first of each. Raises ValueError."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for cell in cells:
        if _ANALYZER.fullmatch(cell):
            parts.append((cell.strip(), []))
        elif parts[-1][0] and not parts[-1][1] and cell.strip().lower() == "time":
            continue
        else:
            parts[-1][1].append(cell)
    names = [name for name, _ in parts]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"several analysers {repeated[0]}")
    return parts


def _parse_reading(
    number: int, analyzer: str, cells: list[str], clock: LocalClock
) -> LogReading | None:
    """The reading in the cells of the line or of an analyser; None if it has no power."""
    time_ns = clock.to_ns(_parse_time(cells[0].strip() if cells else ""))
    groups = _group_by_channel(cells[1:])
    total, channels = groups[0][1], groups[1:]
    _check_channels(channels)
    if channels and POWER in total:
        powers_w = [values.get(POWER, math.nan) for _, values in channels]
        _check_sum(total[POWER], powers_w, "channels")
    used = [(f"{analyzer} {channel}".strip(), values) for channel, values in channels]
    used = used or [(analyzer or TOTAL, total)]
    if not any(POWER in values for _, values in used):
        return None
    layout: Layout = tuple((feed, quantity) for feed, values in used for quantity in values)
    values = tuple(value for _, values in used for value in values.values())
    return LogReading(number, time_ns, layout, values, analyzer)


def _sum_power(reading: LogReading) -> float:
    return sum(
        value
        for (_, quantity), value in zip(reading.layout, reading.values, strict=True)
        if quantity == POWER
    )


def _check_sum(total_w: float, powers_w: list[float], parts: str) -> None:
    """Raise ValueError if the powers do not add up."""
    sum_w = sum(powers_w)
    # -1 stands for "no value", also in the total.
    if _NO_VALUE not in (total_w, *powers_w) and (
        abs(sum_w - total_w) > _SUM_TOLERANCE * abs(total_w)
    ):
        raise ValueError(f"{total_w} W in total, but {sum_w} W over the {parts}")


def _check_channels(channels: list[tuple[str, dict[str, float]]]) -> None:
    """Raise ValueError if a channel occurs twice, or if only some channels have a power."""
    names = [name for name, _ in channels]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"several channels {repeated[0]}")
    without = [name for name, values in channels if POWER not in values]
    if without and len(without) < len(names):
        raise ValueError(f"a channel without Watts: {without[0]}")


def _parse_time(text: str) -> datetime:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"the time {text[:40]!r}, not like MM-DD-YYYY HH:MM:SS.mmm")
    year, month, day = (
        int(match[name] or match[f"iso_{name}"]) for name in ("year", "month", "day")
    )
    microsecond = int((match["fraction"] or "0").ljust(6, "0"))
    try:
        return datetime(
            year,
            month,
            day,
            int(match["hour"]),
            int(match["minute"]),
            int(match["second"]),
            microsecond,
        )
    except ValueError as error:
        raise ValueError(f"the time {text!r}, which does not exist ({error})") from None


def _group_by_channel(cells: list[str]) -> list[tuple[str, dict[str, float]]]:
    """The values of the line as a whole, and then those of each channel, by quantity. Raises
    ValueError."""
    groups: list[tuple[str, dict[str, float]]] = [("", {})]
    tokens: Iterator[str] = iter(cells)
    for token in tokens:
        key, quantity, is_channel = _classify(token)
        if quantity is not None:
            # Without labels, a quantity that comes again belongs to the next channel.
            if quantity in groups[-1][1]:
                groups.append((f"Ch{len(groups)}", {}))
            groups[-1][1][quantity] = _parse_value(key, next(tokens, "").strip())
        elif is_channel:
            groups.append((key, {}))
        elif key.lower() == "mark":
            next(tokens, None)
    return groups


@lru_cache(maxsize=256)
def _classify(token: str) -> tuple[str, str | None, bool]:
    """The key in a cell, the quantity that it names, and whether it is the label of a channel."""
    key = token.strip()
    return key, _QUANTITIES.get(key.lower()), _CHANNEL.fullmatch(key) is not None


def _parse_value(key: str, text: str) -> float:
    # Most values have digits alone, and patterns are slow.
    if not text.replace(".", "", 1).isdecimal() and _NO_NUMBER.fullmatch(text):
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{key} {text[:40]!r}, which is no number") from None
