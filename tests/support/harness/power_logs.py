"""Writes power logs and their maps, and reads them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.power_logs.read import read_log
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLog

START_S = 1_772_618_400
"""2026-03-04T10:00:00Z."""


def write_log(directory: Path, lines: Iterable[str], name: str = "log.csv") -> Path:
    path = directory / name
    path.write_text("\n".join(lines) + "\n")
    return path


def read_lines(
    directory: Path, lines: Iterable[str], csv_map: str = "", **options: Any
) -> PowerLog:
    """The log of these lines, read by a map or by what they show."""
    if csv_map:
        (directory / "map.toml").write_text(csv_map)
        options["map_path"] = directory / "map.toml"
    return read_log(LogRequest(write_log(directory, lines), **options))


def make_map(time: str, power: str, rest: str = "", interval: str = "instant") -> str:
    """A map with these keys of the time and the power."""
    return f'interval = "{interval}"\n{rest}\n[time]\n{time}\n[power]\n{power}\n'


UNIX = 'column = "timestamp"\nformat = "unix"\nunit = "s"'


def list_kinds(log: PowerLog) -> list[tuple[str, int]]:
    """Kind and line of each problem, but for times without a zone."""
    return [(p.kind, p.line) for p in log.problems.list_all() if p.kind != "naive-time"]
