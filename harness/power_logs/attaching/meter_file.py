"""The description of the meter that wrote a log: what a TOML file states, and what the log itself
shows."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from harness.power_logs.toml_file import read_toml
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused
from rules.bundle_format.records import SYSTEM_FORMAT, Json
from rules.bundle_format.seal import encode_json
from rules.declarations.system import MeterDeclaration, SystemDeclaration
from rules.power_logs.records import Interval, PowerLog, PowerLogError

_STAMP_STEPS_MS = (1000.0, 100.0, 10.0, 1.0)
_CLOCK = "import"


def add_meter(
    system: Json, log: PowerLog, stated: Json, path: Path
) -> tuple[Json, MeterDeclaration]:
    """Return system.json with the meter of a log beside those that it has, and the meter.

    `stated` is a table `[[meter]]` of the TOML file `path`, with keys as in `meters` of
    system.json. Keys that the log shows may be left out. Raises PowerLogError, which names the file
    and the key.
    """
    nodes = [node["name"] for node in system["nodes"]]
    entry = {**_derive(log, nodes, stated), **stated}
    for key, value in (("kind", log.format), ("clock", _CLOCK)):
        if entry[key] != value:
            raise PowerLogError(
                f"{path}: meter.{key}: found {entry[key]!r}, expected {value!r} for this log"
            )
    meters = [*system.get("meters", []), entry]
    document = _validate({**system, "meters": meters}, path)
    declared = SystemDeclaration.from_document(document).meters
    assert declared is not None
    meter = declared[-1]
    _check_feeds(meter, log, nodes, path)
    if log.current not in (None, meter.current):
        raise PowerLogError(
            f"{path}: meter.current: found {meter.current!r}, but the log states {log.current!r}"
        )
    return document, meter


def read_tables(path: Path, logs: int) -> list[Json]:
    """The tables `[[meter]]` of a TOML file: one for all logs, or one for each. Raises
    PowerLogError."""
    document = read_toml(path)
    tables = document.pop("meter", None)
    if document:
        raise PowerLogError(f"{path}: unknown key {next(iter(document))!r}; expected [[meter]]")
    is_list = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if not is_list or len(tables) not in (1, logs):
        several = "" if logs == 1 else f", or {logs}, one for each log"
        raise PowerLogError(
            f"{path}: expected one table [[meter]] for the meter of the log{several}"
        )
    return list(tables)


def _derive(log: PowerLog, nodes: list[str], stated: dict[str, Any]) -> Json:
    """What the log itself shows of its meter."""
    steps_ns = np.concatenate([np.diff(series.times_ns) for series in log.series])
    interval_ms = round(float(np.median(steps_ns)) / 1e6, 3)
    times_ns = np.concatenate([series.times_ns for series in log.series])
    entry: Json = {
        "kind": log.format,
        "clock": _CLOCK,
        "interval_ms": interval_ms,
        "averaging_ms": 0.0 if log.interval is Interval.INSTANT else interval_ms,
        "stamp_resolution_ms": next(
            (step for step in _STAMP_STEPS_MS if not (times_ns % round(step * 1e6)).any()), 0.0
        ),
    }
    if len(nodes) == 1:
        entry["feeds"] = [{"feed": feed, "node": nodes[0]} for feed in log.feeds]
    if log.current is not None:
        entry["current"] = log.current
    if stated.get("current", log.current) == "dc" and log.conversion_efficiency is not None:
        entry["conversion_loss"] = round(1 - log.conversion_efficiency, 6)
    return entry


def _validate(document: Json, path: Path) -> Json:
    """The document, if it follows the schema. Raises PowerLogError."""
    try:
        return read_document("system.json", encode_json(document), SYSTEM_FORMAT)
    except Refused as refusal:
        violation = refusal.problems[0].violation
        place = re.sub(r"^/meters/\d+", "", violation.pointer).replace("/", ".")
        raise PowerLogError(
            f"{path}: meter{place}: found {violation.found}, expected {violation.expected}"
        ) from None
    except (TypeError, ValueError) as error:  # a date of TOML, or NaN
        raise PowerLogError(f"{path}: meter: {error}; write texts in quotes") from None


def _check_feeds(meter: MeterDeclaration, log: PowerLog, nodes: list[str], path: Path) -> None:
    declared = [feed.feed for feed in meter.feeds]
    # Feeds that do not add up are not all of one node.
    is_fit = sorted(declared) == sorted(log.feeds) if log.adds else {*declared} <= {*log.feeds}
    if not is_fit:
        raise PowerLogError(
            f"{path}: meter.feeds: found {', '.join(declared)}, but the log has the feeds "
            f"{', '.join(log.feeds)}"
        )
    for feed in meter.feeds:
        if feed.node not in nodes:
            raise PowerLogError(
                f"{path}: meter.feeds: found the node {feed.node!r}, expected one of "
                f"{', '.join(nodes)}"
            )
