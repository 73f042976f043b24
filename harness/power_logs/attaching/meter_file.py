"""The description of the meter that wrote a log: what a TOML file states, and what the log itself
shows."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from checker.command_line.toml_text import parse_toml
from harness.power_logs.records import PowerLog, PowerLogError
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused
from rules.bundle_format.records import SYSTEM_FORMAT, Json
from rules.bundle_format.seal import encode_json
from rules.declarations.system import MeterDeclaration, SystemDeclaration

_STAMP_STEPS_MS = (1000.0, 100.0, 10.0, 1.0)
_CLOCK = "import"


def add_meter(system: Json, log: PowerLog, path: Path) -> tuple[Json, MeterDeclaration]:
    """Return system.json with the meter of a log, and the meter.

    `path` is a TOML file with one table `[[meter]]`, with keys as in `meters` of system.json. Keys
    that the log shows may be left out. Raises PowerLogError, which names the file and the key.
    """
    stated = _read_table(path)
    nodes = [node["name"] for node in system["nodes"]]
    entry = {**_derive(log, nodes, stated), **stated}
    for key, value in (("kind", log.format), ("clock", _CLOCK)):
        if entry[key] != value:
            raise PowerLogError(
                f"{path}: meter.{key}: found {entry[key]!r}, expected {value!r} for this log"
            )
    document = _validate({**system, "meters": [entry]}, path)
    meter = SystemDeclaration.from_document(document).meters
    assert meter is not None
    _check_feeds(meter[0], log, nodes, path)
    if log.current not in (None, meter[0].current):
        raise PowerLogError(
            f"{path}: meter.current: found {meter[0].current!r}, but the log states {log.current!r}"
        )
    return document, meter[0]


def _read_table(path: Path) -> dict[str, Any]:
    try:
        document = parse_toml(path.read_bytes())
    except OSError as error:
        raise PowerLogError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PowerLogError(f"{path}: no valid TOML ({error})") from None
    tables = document.pop("meter", None)
    if document:
        raise PowerLogError(f"{path}: unknown key {next(iter(document))!r}; expected [[meter]]")
    if not isinstance(tables, list) or len(tables) != 1 or not isinstance(tables[0], dict):
        raise PowerLogError(f"{path}: expected one table [[meter]] for the meter of the log")
    return tables[0]


def _derive(log: PowerLog, nodes: list[str], stated: dict[str, Any]) -> Json:
    """What the log itself shows of its meter."""
    interval_ms = round(float(np.median(np.diff(log.times_ns))) / 1e6, 3)
    entry: Json = {
        "kind": log.format,
        "clock": _CLOCK,
        "interval_ms": interval_ms,
        "averaging_ms": interval_ms if log.interval_means else 0.0,
        "stamp_resolution_ms": next(
            (step for step in _STAMP_STEPS_MS if not (log.times_ns % round(step * 1e6)).any()), 0.0
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
        place = violation.pointer.removeprefix("/meters/0").replace("/", ".")
        raise PowerLogError(
            f"{path}: meter{place}: found {violation.found}, expected {violation.expected}"
        ) from None
    except (TypeError, ValueError) as error:  # a date of TOML, or NaN
        raise PowerLogError(f"{path}: meter: {error}; write texts in quotes") from None


def _check_feeds(meter: MeterDeclaration, log: PowerLog, nodes: list[str], path: Path) -> None:
    declared = [feed.feed for feed in meter.feeds]
    if sorted(declared) != sorted(log.feeds):
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
