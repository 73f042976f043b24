"""Parses the lines of a power log: finds its format, limits it to a span of time, and checks it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from rules.power_logs.builder import LogBounds, LogSource, OpenLines, describe_no_readings
from rules.power_logs.checks import check, refuse_mixed
from rules.power_logs.csv_map import CsvMap
from rules.power_logs.formats import LogFormat, find_format, get_format
from rules.power_logs.integrals import hold_backwards
from rules.power_logs.local_time import (
    LONGEST_NS,
    LocalClock,
    LocalTimeError,
    count_ns,
    find_zone,
    format_time,
)
from rules.power_logs.records import Interval, LeftOut, PowerLog, PowerLogError, Problems

_T = TypeVar("_T")
_SNIFFED_LINES = 1_000
_DECLARE_ZONE = "declare the time zone of the log with --time-zone, such as Europe/Berlin or UTC"
_DECLARE_START = "state the time 0 of the log with --start, such as 2026-03-04T10:00:00Z"
MIN_READINGS = 3
"""Fewer readings show no course of power. A log of changes may have two."""


@dataclass(frozen=True)
class LogRequest:
    """Which log to read, and how."""

    path: Path
    """Names the log in messages."""
    format: str = "auto"
    map_path: Path | None = None
    """Names the map in messages."""
    time_zone: str | None = None
    begin: str | None = None
    """ISO 8601; readings before it are left out."""
    end: str | None = None
    start: str | None = None
    """ISO 8601; the time 0 of elapsed times."""
    every_s: float | None = None
    """The interval of a log without times."""
    rating_w: float | None = None
    """Rated power of all feeds together."""


def parse_log(
    request: LogRequest,
    csv_map: CsvMap | None,
    open_lines: OpenLines,
    bounds: LogBounds | None = None,
) -> PowerLog:
    """Parse the lines of a log and check its readings. `open_lines` may be called twice. Raises
    PowerLogError if the log cannot be used, or has more than the bounds allow."""
    zone = _find_zone(request.time_zone)
    with open_lines() as lines:
        first_lines = list(islice(lines, _SNIFFED_LINES))
        head = [text for _, text in first_lines]
        log_format = _choose_format(request, head)
        source = LogSource(
            request.path,
            chain(first_lines, lines),
            open_lines,
            [text for text in head if len(text) <= log_format.max_line],
            zone,
            csv_map,
            start_ns=None if request.start is None else _parse_time("--start", request.start, zone),
            every_ns=_read_every(request),
            bounds=bounds,
        )
        source.lines = _limit_lines(source, source.lines, log_format.max_line)
        log = log_format.parse(source)
        log = replace(log, part=log.part or log_format.part)
    if bounds is not None and len(log.feeds) > bounds.feeds:
        raise PowerLogError(
            f"{request.path}: {len(log.feeds)} feeds, expected {bounds.feeds} at most; give the "
            "log of the nodes of the job"
        )
    return _check(log, request, source, zone)


def _read_every(request: LogRequest) -> int | None:
    """The interval of a log without times in ns. Raises PowerLogError."""
    every_s = request.every_s
    if every_s is None:
        return None
    if not 1e-9 <= every_s <= LONGEST_NS / 1e9:
        raise PowerLogError(f"--every {every_s:g}: expected seconds between two readings")
    return round(every_s * 1e9)


def _limit_lines(
    source: LogSource, lines: Iterator[tuple[int, str]], most: int
) -> Iterator[tuple[int, str]]:
    """The lines without those that no log of the format has: patterns would take long on them."""
    for number, line in lines:
        if len(line) <= most:
            yield number, line
        else:
            source.add_torn(number, f"{len(line)} characters, where the format has {most} at most")


def join_logs(requests: Sequence[LogRequest], logs: Sequence[PowerLog]) -> PowerLog:
    """Logs of one system, such as one of each supply or node, as one log. Feeds of logs with equal
    names of feeds are headed by the name of the file. Raises PowerLogError if their times do not
    fit together."""
    if len(logs) == 1:
        return logs[0]
    first = logs[0]
    for request, log in zip(requests, logs, strict=True):
        for name in ("interval", "elapsed", "time_zone"):
            ours, theirs = getattr(log, name), getattr(first, name)
            if ours != theirs:
                raise PowerLogError(
                    f"{request.path}: {name} is {_show(ours)}, but that of {requests[0].path} is "
                    f"{_show(theirs)}; read the logs one by one"
                )
    names = [feed for log in logs for feed in log.feeds]
    series, problems = [], Problems()
    for request, log in zip(requests, logs, strict=True):
        prefix = f"{request.path.name} " if len(set(names)) < len(names) else ""
        series += [part.head_feeds(prefix) for part in log.series]
        for problem in log.problems.list_all():
            problems.add(
                problem.kind, problem.line, f"{request.path.name}: {problem.found}", problem.advice
            )
    left_out = LeftOut(
        sum(log.left_out.readings for log in logs),
        sum(log.left_out.used for log in logs),
        sum(log.left_out.energy_bound_j for log in logs),
    )
    nodes = [node for log in logs for node in log.nodes or ()]
    overlaps = [log.overlap for log in logs if log.overlap]
    if twice := next((node for node in nodes if nodes.count(node) > 1), None):
        overlaps.append(f"several logs have readings of the node {twice}; give one of them")
    return replace(
        first,
        overlap=next(iter(overlaps), ""),
        part=" and ".join(dict.fromkeys(log.part for log in logs if log.part)),
        nodes=None if None in [log.nodes for log in logs] else tuple(nodes),
        format=", ".join(dict.fromkeys(log.format for log in logs)),
        series=tuple(series),
        adds=all(log.adds for log in logs) and not overlaps,
        current=_find_common([log.current for log in logs]),
        conversion_efficiency=_find_common([log.conversion_efficiency for log in logs]),
        window_ns=_find_common([log.window_ns for log in logs]),
        left_out=left_out,
        problems=problems,
    )


def place_log(requests: Sequence[LogRequest], log: PowerLog) -> PowerLog:
    """The log with readings that are instants or means. Raises PowerLogError if its times are no
    instants since 1970."""
    if log.elapsed:
        raise PowerLogError(
            f"{requests[0].path}: the times of this log count from a start that it does not state, "
            "so it cannot be placed; state the time 0 of the log with --start"
        )
    if log.time_zone is None:
        raise PowerLogError(
            f"{requests[0].path}: the times of this log have no time zone, so it cannot be placed; "
            "declare it with --time-zone, such as Europe/Berlin or UTC"
        )
    return hold_backwards(log)


def _find_common(values: Sequence[_T]) -> _T | None:
    return values[0] if len(set(values)) == 1 else None


def _show(value: object) -> str:
    return value.value if isinstance(value, Interval) else str(value)


def _check(log: PowerLog, request: LogRequest, source: LogSource, zone: tzinfo | None) -> PowerLog:
    _refuse_unused_options(log, request)
    limited = _limit(_crop(log), request, zone)
    log = check(limited, request.rating_w)
    _refuse_unusable(log, limited, source)
    if log.has_local_times and log.time_zone is None:
        log.problems.add(
            "naive-time", int(log.series[0].lines[0]), "times without a time zone", _DECLARE_ZONE
        )
    return log


def _choose_format(request: LogRequest, head: Sequence[str]) -> LogFormat:
    """The format that the options name, or that the first lines show. Raises PowerLogError."""
    has_map = request.map_path is not None
    if has_map and request.format not in ("auto", "csv"):
        raise PowerLogError(
            f"--map declares a CSV log, but --format is {request.format}; leave out one"
        )
    if request.format != "auto":
        return get_format(request.format)
    return find_format(request.path, head, has_map)


def _refuse_unused_options(log: PowerLog, request: LogRequest) -> None:
    """Raise PowerLogError for an option that the times of the log make meaningless."""
    # A zone may also be that of --from, --to and --start.
    bounds = (request.begin, request.end, request.start)
    if request.time_zone is not None and not log.has_local_times and bounds == (None,) * 3:
        raise PowerLogError(
            f"{request.path}: --time-zone {request.time_zone}: the times of this log are no local "
            "times; leave out the option, and state a clock that is off with --clock-offset of "
            "attach-power"
        )
    if request.start is not None and not log.from_start:
        raise PowerLogError(
            f"{request.path}: --start {request.start}: the times of this log do not count from a "
            "start; leave out the option"
        )


def _refuse_unusable(log: PowerLog, limited: PowerLog, source: LogSource) -> None:
    """Raise PowerLogError if too few or too many of the readings of `limited` are left out."""
    count = len(limited)
    if 2 * log.problems.count("impossible-power") > count:
        raise PowerLogError(
            f"{source.path}: most readings are above a megawatt, such as line "
            f"{log.problems.find_first('impossible-power').line}; declare the unit that the log has"
        )
    if not log.series:
        raise PowerLogError(describe_no_readings(source, log.format))
    refuse_mixed(source, limited, log)
    needed = 2 if log.interval is Interval.UNTIL_NEXT else MIN_READINGS
    for series in log.series:
        if len(series) < needed:
            found = "one reading" if len(series) == 1 else f"{len(series)} readings"
            raise PowerLogError(
                f"{source.path}, line {series.lines[0]}: {', '.join(series.feeds)} has {found}, "
                f"and a log of power needs {needed} at least; their energy is unknown"
            )


def _crop(log: PowerLog) -> PowerLog:
    """The log without readings outside the measurement that it states."""
    if log.window_ns is None:
        return log
    start_ns, end_ns = log.window_ns
    inside = [(s.times_ns >= start_ns) & (s.times_ns <= end_ns) for s in log.series]
    if end_ns <= start_ns or min(int(where.sum()) for where in inside) < MIN_READINGS:
        log.problems.add(
            "window-contradicted",
            0,
            "power_measurement_start and power_measurement_stop do not enclose the readings",
            "all readings are used; limit them with --from and --to",
        )
        return replace(log, window_ns=None)
    outside = sum(int((~where).sum()) for where in inside)
    if outside:
        log.problems.add(
            "outside-measurement",
            0,
            f"{outside} readings before power_measurement_start or after power_measurement_stop",
            "they are left out",
        )
    series = tuple(s.at(where) for s, where in zip(log.series, inside, strict=True))
    return replace(log, series=series)


def _find_zone(name: str | None) -> tzinfo | None:
    try:
        return None if name is None else find_zone(name)
    except ValueError as error:
        raise PowerLogError(f"--time-zone: {error}") from None


def _limit(log: PowerLog, request: LogRequest, zone: tzinfo | None) -> PowerLog:
    """The readings between the two times of the request. Raises PowerLogError."""
    if request.begin is None and request.end is None:
        return log
    if log.elapsed:
        raise PowerLogError(
            f"{request.path}: --from and --to need the instants of the readings, and the times of "
            f"this log count from a start that it does not state; {_DECLARE_START}"
        )
    if log.time_zone is None:
        raise PowerLogError(
            f"{request.path}: --from and --to need the instants of the readings, and the times of "
            f"this log have no time zone; {_DECLARE_ZONE}"
        )
    begin_ns, end_ns = log.start_ns, log.end_ns
    if request.begin is not None:
        begin_ns = _parse_time("--from", request.begin, zone)
    if request.end is not None:
        end_ns = _parse_time("--to", request.end, zone)
    limited = [
        series.at((series.times_ns >= begin_ns) & (series.times_ns <= end_ns))
        for series in log.series
    ]
    if not any(map(len, limited)):
        first, last = format_time(log.start_ns, True), format_time(log.end_ns, True)
        raise PowerLogError(
            f"{request.path}: no reading between --from and --to; the log has readings from "
            f"{first} to {last}"
        )
    kept = tuple(series for series in limited if len(series))
    return replace(log, series=kept, begin_ns=None)


def _parse_time(option: str, text: str, zone: tzinfo | None) -> int:
    """A time of the command line in ns since 1970. Raises PowerLogError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise PowerLogError(
            f"{option} {text!r}: no time; write it like 2025-07-28T08:14:05.414Z"
        ) from None
    if moment.tzinfo is None and zone is None:
        raise PowerLogError(
            f"{option} {text!r}: the time has no time zone; add Z or an offset such as +02:00"
        )
    try:
        return LocalClock(zone).to_ns(moment) if moment.tzinfo is None else count_ns(moment)
    except LocalTimeError as error:
        raise PowerLogError(f"{option} {text!r}: {error}; add an offset such as +02:00") from None
    except ValueError as error:
        raise PowerLogError(f"{option} {text!r}: {error}") from None
