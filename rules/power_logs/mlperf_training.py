"""Power logs of MLPerf training submissions: lines of MLLOG with the key `power_reading`.

A reading is the power in W of one node, or with the key `interconnect_power_est` of a switch.
`conversion_eff` states the efficiency of the conversion to direct current, and whether the readings
are AC or DC. MLPerf multiplies the energy by it. Here the readings stay as metered.
`power_measurement_start` and `power_measurement_stop` bound the measurement. Times are UTC, in ms
since 1970.
Source: mlperf_logging/mllog/examples/power/power_measurement.py of mlcommons/logging.
"""

import json
import math
import re
from typing import Any

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.local_time import FIRST_NS, LAST_NS
from rules.power_logs.records import POWER, Interval, LogReading, PowerLog, PowerLogError

NAME = "mlperf-training"
_LINE = re.compile(r":::MLLOG\s*(\{.*\})\s*$")
_READINGS, _CONVERSION = ("power_reading", "interconnect_power_est"), "conversion_eff"
_BOUNDS = ("power_measurement_start", "power_measurement_stop")
_DEFAULT_HOST = "node"


def recognise(line: str) -> bool:
    """Whether a line shows that the log is of this format."""
    return ":::MLLOG" in line


def parse(source: LogSource) -> PowerLog:
    """Read a log; each host is a feed. Raises PowerLogError if it has no readings."""
    builder = LogBuilder(source)
    bounds_ns: dict[str, int] = {}
    conversions: dict[tuple[str | None, float | None], int] = {}
    has_readings = False
    for number, line in source.lines:
        if ":::MLLOG" not in line:
            if any(key in line for key in _READINGS):
                source.add_torn(number, "a part of a power_reading without :::MLLOG")
            continue
        try:
            event = _parse_event(line)
            key = event.get("key")
            if key in _READINGS:
                builder.add(_parse_reading(number, event))
                has_readings = True
            elif key == _CONVERSION:
                conversions.setdefault(_parse_conversion(event), number)
            elif key in _BOUNDS:
                bounds_ns[key] = _parse_time_ns(event)
        except ValueError as error:
            source.add_torn(number, str(error))
    if not has_readings and not source.problems.list_all():
        raise PowerLogError(
            f"{source.path}: an MLPerf log without {_READINGS[0]} lines, so it is no power log; "
            "name the file of a node in the directory power/ of the submission"
        )
    current, efficiency = _check_conversion(source, conversions)
    return builder.build(
        NAME,
        "UTC",
        Interval.MEAN_BEFORE,
        current=current,
        conversion_efficiency=efficiency,
        window_ns=tuple(bounds_ns[key] for key in _BOUNDS) if len(bounds_ns) == 2 else None,
    )


def _parse_event(line: str) -> dict[str, Any]:
    """The event of a line. Raises ValueError."""
    match = _LINE.search(line)
    if match is None:
        raise ValueError("an MLLOG line without a whole JSON object")
    try:
        event = json.loads(match[1])
    except (ValueError, RecursionError):
        raise ValueError("an MLLOG line that is no valid JSON") from None
    if not isinstance(event, dict):
        raise ValueError("an MLLOG line that is no JSON object")
    return event


def _parse_reading(number: int, event: dict[str, Any]) -> LogReading:
    power_w, time_ns = _read_number(event, "value"), _parse_time_ns(event)
    host = _read_metadata(event).get("host")
    feed = host if isinstance(host, str) and host else _DEFAULT_HOST
    return LogReading(number, time_ns, ((feed, POWER),), (power_w,), feed)


def _parse_time_ns(event: dict[str, Any]) -> int:
    time_ms = _read_number(event, "time_ms")
    if not FIRST_NS < time_ms * 1e6 < LAST_NS:
        raise ValueError(f"time_ms {time_ms:.0f}, not in ms since 1970")
    return round(time_ms * 1e6)


def _parse_conversion(event: dict[str, Any]) -> tuple[str | None, float | None]:
    """Current (`ac` or `dc`) and efficiency, None where they are not stated."""
    kind = _read_metadata(event).get("measurement_type")
    current = kind.lower() if isinstance(kind, str) and kind.lower() in ("ac", "dc") else None
    return current, None if event.get("value") is None else _read_number(event, "value")


def _read_metadata(event: dict[str, Any]) -> dict[str, Any]:
    metadata = event.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _read_number(event: dict[str, Any], key: str) -> float:
    """The number under a key; some submitters write it as text. Raises ValueError."""
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{key} {value!r}, which is no number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{key} {str(value)[:40]!r}, which is no number") from None


def _check_conversion(
    source: LogSource, conversions: dict[tuple[str | None, float | None], int]
) -> tuple[str | None, float | None]:
    """The one statement of current and efficiency; what the log leaves open is a problem."""
    if len(conversions) != 1:
        found = "several different conversion_eff" if conversions else "no conversion_eff"
        line = list(conversions.values())[1] if conversions else 0
        source.problems.add(
            "conversion-unstated", line, found, "state current and conversion of the meter yourself"
        )
        return None, None
    ((current, efficiency), line), *_ = conversions.items()
    if current is None:
        source.problems.add(
            "conversion-unstated",
            line,
            "conversion_eff without measurement_type AC or DC",
            "state the current of the meter yourself",
        )
    if efficiency is None or not 0 < efficiency <= 1 or math.isnan(efficiency):
        source.problems.add(
            "conversion-impossible",
            line,
            f"conversion_eff {efficiency}, not between 0 and 1",
            "ask the submitter; the readings are used as metered",
        )
        efficiency = None
    return current, efficiency
