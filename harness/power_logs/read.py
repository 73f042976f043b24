"""Reads the files of power logs."""

from collections.abc import Sequence
from functools import partial

from harness.power_logs.text import open_lines
from harness.power_logs.toml_file import read_toml
from rules.power_logs.csv_map import CsvMap, read_map
from rules.power_logs.read import LogRequest, join_logs, parse_log
from rules.power_logs.records import PowerLog


def read_log(request: LogRequest) -> PowerLog:
    """Read a log and check it. Raises PowerLogError if it cannot be used."""
    return parse_log(request, read_map_of(request), partial(open_lines, request.path))


def read_logs(requests: Sequence[LogRequest]) -> PowerLog:
    """Read logs of one system as one log, see `join_logs`. Raises PowerLogError."""
    return join_logs(requests, list(map(read_log, requests)))


def read_map_of(request: LogRequest) -> CsvMap | None:
    """The map that a request names. Raises PowerLogError."""
    path = request.map_path
    return None if path is None else read_map(path, read_toml(path))
