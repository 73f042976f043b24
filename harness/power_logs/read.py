"""Reads a power log: finds its format, parses it, limits it to a span of time, and checks it."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain, islice
from pathlib import Path
from types import ModuleType

import numpy as np

from harness.power_logs import csv_log, mlperf_training, ptd
from harness.power_logs.builder import LogSource, describe_no_readings
from harness.power_logs.checks import check
from harness.power_logs.csv_map import EXAMPLE, read_map
from harness.power_logs.local_time import (
    LocalClock,
    LocalTimeError,
    count_ns,
    find_zone,
    format_time,
)
from harness.power_logs.records import PowerLog, PowerLogError
from harness.power_logs.text import open_lines

FORMATS: dict[str, ModuleType] = {module.NAME: module for module in (ptd, mlperf_training, csv_log)}
_SNIFFED_LINES = 1_000
"""A daemon's own log begins with messages."""
_DECLARE_ZONE = "declare the time zone of the log with --time-zone, such as Europe/Berlin or UTC"


@dataclass(frozen=True)
class LogRequest:
    """Which log to read, and how."""

    path: Path
    format: str = "auto"
    map_path: Path | None = None
    time_zone: str | None = None
    begin: str | None = None
    """ISO 8601; readings before it are left out."""
    end: str | None = None


def read_log(request: LogRequest) -> PowerLog:
    """Read a log and check it. Raises PowerLogError if it cannot be used."""
    zone = _find_zone(request.time_zone)
    with open_lines(request.path) as lines:
        first_lines = list(islice(lines, _SNIFFED_LINES))
        csv_map = None if request.map_path is None else read_map(request.map_path)
        name = request.format
        if name == "auto":
            name = (
                "csv" if csv_map else _find_format(request.path, [text for _, text in first_lines])
            )
        elif csv_map and name != "csv":
            raise PowerLogError(f"--map declares a CSV log, but --format is {name}; leave out one")
        source = LogSource(request.path, chain(first_lines, lines), zone, csv_map)
        log: PowerLog = FORMATS[name].parse(source)
    limited = _limit(log, request, zone)
    log = check(limited)
    _refuse_unusable(log, len(limited), source, name)
    if log.time_zone is None:
        log.problems.add(
            "naive-time", int(log.lines[0]), "times without a time zone", _DECLARE_ZONE
        )
    return log


def _refuse_unusable(log: PowerLog, count: int, source: LogSource, name: str) -> None:
    """Raise PowerLogError if too few of `count` readings are left."""
    if 2 * log.problems.count("impossible-power") > count:
        raise PowerLogError(
            f"{source.path}: most readings are above a megawatt, such as line "
            f"{log.problems.find_first('impossible-power').line}; declare the unit that the log has"
        )
    if not len(log):
        raise PowerLogError(describe_no_readings(source, name))


def _find_zone(name: str | None) -> tzinfo | None:
    try:
        return None if name is None else find_zone(name)
    except ValueError as error:
        raise PowerLogError(f"--time-zone: {error}") from None


def _find_format(path: Path, first_lines: list[str]) -> str:
    """The format that the first lines show. Raises PowerLogError."""
    for line in first_lines:
        for name, module in FORMATS.items():
            if module.recognise(line):
                return name
    if _is_prometheus_answer(first_lines):
        raise PowerLogError(
            f"{path}: an answer of Prometheus; query_range gives values on a grid of times, which "
            "repeat the readings or miss some. Export the readings themselves as CSV and read them "
            "with --map"
        )
    shown = next((line for line in first_lines if line.strip()), "")
    raise PowerLogError(
        f"{path}: the format is unknown; the first line is {shown[:80]!r}. Known are "
        f"{', '.join(FORMATS)}. A CSV log needs --map MAP.toml, such as\n{EXAMPLE}"
    )


def _is_prometheus_answer(first_lines: list[str]) -> bool:
    text = "".join(first_lines)[:4096].replace(" ", "")
    return '"resultType":' in text and '"result":' in text


def _limit(log: PowerLog, request: LogRequest, zone: tzinfo | None) -> PowerLog:
    """The readings between the two times of the request. Raises PowerLogError."""
    if request.begin is None and request.end is None:
        return log
    if log.time_zone is None:
        raise PowerLogError(
            f"{request.path}: --from and --to need the instants of the readings, and the times of "
            f"this log have no time zone; {_DECLARE_ZONE}"
        )
    inside = np.ones(len(log), dtype=bool)
    if request.begin is not None:
        inside &= log.times_ns >= _parse_bound("--from", request.begin, zone)
    if request.end is not None:
        inside &= log.times_ns <= _parse_bound("--to", request.end, zone)
    if not inside.any():
        first, last = (format_time(int(t), True) for t in (log.times_ns.min(), log.times_ns.max()))
        raise PowerLogError(
            f"{request.path}: no reading between --from and --to; the log has readings from "
            f"{first} to {last}"
        )
    return log.at(inside)


def _parse_bound(option: str, text: str, zone: tzinfo | None) -> int:
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
