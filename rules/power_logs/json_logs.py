"""Logs in JSON: one document, or one after the other."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rules.power_logs.builder import LogBuilder, LogSource
from rules.power_logs.local_time import check_ns, count_ns
from rules.power_logs.records import POWER, Interval, LogReading, PowerLog, PowerLogError

Json = Any
Reading = tuple[str, int | None, float]
"""Feed, time in ns (None if the log has none), and power in W."""
MAX_CHARACTERS = 2**24
"""Of a document: an answer of Prometheus with 600 000 values, in one line."""
_WRONG_DOCUMENT = (
    *(LookupError, TypeError, ValueError, AttributeError, OverflowError),
    RecursionError,
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]')
"""A text, or a bracket outside of texts."""
_TORN = "a document that is no valid JSON or has no end"
_ALIKE = 8
"""Documents in one line each begin with the same name of a key."""
_GRID_ADVICE = "export the readings themselves, if energy or short peaks matter"


@dataclass(frozen=True)
class JsonLayout:
    """A kind of document."""

    name: str
    program: str
    version: str
    reads: str
    mark: str
    """A text that stands near the beginning of every such log."""
    read: Callable[[Json], Iterator[Reading]]
    """The readings of a document. Raises one of `_WRONG_DOCUMENT` if it is another."""
    adds: str = ".*"
    """A pattern of the feeds whose powers add up if there are several."""
    interval: Interval = Interval.INSTANT
    part: str = ""
    """What such a log measures if that is no whole node."""
    is_grid: bool = False
    """Whether the values lie on a grid of times and are not the readings themselves."""

    def recognise(self, head: Sequence[str]) -> bool:
        """Whether the first lines show that a log is of this kind."""
        text = "".join(head)[:100_000]
        return text.lstrip()[:1] in ("{", "[") and self.mark in text

    def parse(self, source: LogSource) -> PowerLog:
        """Read a log. Raises PowerLogError if it has no readings."""
        builder = LogBuilder(source)
        counts: dict[str, int] = {}
        for number, document in _decode(source):
            try:
                readings = list(self.read(document))
                if any(not isinstance(feed, str) for feed, _, _ in readings):
                    raise TypeError("the name of a feed is no text")
            except _WRONG_DOCUMENT as error:
                source.add_torn(number, f"no document of the format {self.name} ({error})")
                continue
            for feed, time_ns, power_w in readings:
                counts[feed] = counts.get(feed, 0) + 1
                placed_ns = self._count(source, counts[feed]) if time_ns is None else time_ns
                builder.add(LogReading(number, placed_ns, ((feed, POWER),), (power_w,), feed))
        if self.is_grid:
            source.problems.add(
                "grid",
                0,
                "values on a grid of times, which repeat the readings or miss some",
                _GRID_ADVICE,
            )
        has_times = source.every_ns is None
        elapsed = not has_times and source.start_ns is None
        return builder.build(
            self.name,
            None if elapsed else "UTC",
            self.interval,
            elapsed=elapsed,
            from_start=not has_times,
            adds=len(counts) == 1 or all(re.fullmatch(self.adds, feed) for feed in counts),
        )

    def _count(self, source: LogSource, count: int) -> int:
        if source.every_ns is None:
            raise PowerLogError(
                f"{source.path}: a log of {self.program}, whose documents have no times; state the "
                "seconds between two of them with --every"
            )
        return source.place(count - 1)


def _decode(source: LogSource) -> Iterator[tuple[int, Json]]:
    """The documents of a log with the lines where they begin. Raises PowerLogError for a document
    that is too large."""
    open_lines: list[tuple[int, str]] = []
    """Of a document that has no end yet."""
    depth = size = 0
    for number, line in source.lines:
        if not open_lines:
            if not line.strip():
                continue
            depth = size = 0
        open_lines.append((number, line))
        size += len(line)
        if size > MAX_CHARACTERS:
            raise PowerLogError(
                f"{source.path}, line {open_lines[0][0]}: a document of more than {MAX_CHARACTERS} "
                "characters; export a shorter time"
            )
        # Decode where all brackets are closed, because documents of many lines are common.
        depth += _count_open(line)
        if depth <= 0:
            text = "\n".join(text for _, text in open_lines)
            yield from _decode_text(source, open_lines[0][0], text)
            open_lines = []
    if not open_lines:
        return
    first, torn = open_lines[0]
    source.add_torn(first, _TORN)
    # Behind a torn line of a log with a document in each line, the others are whole.
    for number, line in open_lines[1:]:
        if len(torn) > _ALIKE and line[:_ALIKE] == torn[:_ALIKE] and _count_open(line) == 0:
            yield from _decode_text(source, number, line)


def _count_open(line: str) -> int:
    """How many more brackets a line opens than it closes."""
    tokens = _TOKEN.findall(line)
    return sum((token in "{[") - (token in "}]") for token in tokens)


def _decode_text(source: LogSource, number: int, text: str) -> Iterator[tuple[int, Json]]:
    """The documents of a text, one behind the other."""
    decoder, place = json.JSONDecoder(), 0
    while match := _BEGIN.search(text, place):
        try:
            document, place = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            source.add_torn(number, _TORN)
            return
        for part in document if isinstance(document, list) else [document]:
            yield number, part


_BEGIN = re.compile(r"[^\s,\ufeff]")
"""Commas may stand between documents, and a byte order mark before them."""


def _read_prometheus(document: Json) -> Iterator[Reading]:
    data = document["data"]
    if data["resultType"] != "matrix":
        raise ValueError(f"resultType {data['resultType']}, and not the matrix of query_range")
    metrics = {str(part["metric"].get("__name__", "")) for part in data["result"]}
    if len(metrics) > 1:
        raise ValueError(f"several metrics, {', '.join(sorted(metrics))}; query one")
    names = _name_series([part["metric"] for part in data["result"]])
    for name, part in zip(names, data["result"], strict=True):
        factor = _find_factor(str(part["metric"].get("__name__", "")))
        for time_s, value in part["values"]:
            yield name, check_ns(round(float(time_s) * 1e6) * 1000), float(value) * factor


def _name_series(metrics: list[dict[str, str]]) -> list[str]:
    """A name for each series: the labels in which they differ."""
    labels = list(dict.fromkeys(label for metric in metrics for label in metric))
    if len(labels) * len(metrics) > _MOST_LABELS:
        raise ValueError(f"{len(metrics)} series with {len(labels)} labels; query fewer")
    differing = [
        label for label in labels if len({metric.get(label, "") for metric in metrics}) > 1
    ]
    if not differing:
        return ["total"] * len(metrics)
    # Labels such as UUID, device and gpu name the same thing; the first that tells all apart is
    # enough.
    for label in sorted(differing, key=lambda label: label not in _PREFERRED_LABELS):
        if len({metric.get(label, "") for metric in metrics}) == len(metrics):
            return [metric.get(label, "") or "total" for metric in metrics]
    return ["/".join(metric.get(label, "") for label in differing) for metric in metrics]


_MOST_LABELS = 5_000_000
"""Of all series together: each is compared with those of the others."""
_PREFERRED_LABELS = ("gpu", "gpu_id", "instance", "Hostname", "node")
_METRIC_UNITS = {"milliwatts": 1e-3, "_mw": 1e-3, "microwatts": 1e-6, "kilowatts": 1e3}


def _find_factor(metric: str) -> float:
    if "joule" in metric or "energy" in metric.lower():
        raise ValueError(f"the metric {metric} is an energy; query its rate in W")
    return next((f for end, f in _METRIC_UNITS.items() if metric.lower().endswith(end)), 1.0)


def _read_redfish(document: Json) -> Iterator[Reading]:
    for value in document["MetricValues"]:
        name = value.get("MetricProperty") or value["MetricId"]
        if "power" not in f"{name}{value.get('MetricId', '')}".lower():
            continue
        moment = datetime.fromisoformat(value["Timestamp"])
        if moment.tzinfo is None:
            raise ValueError(f"the time {value['Timestamp']} has no offset")
        yield name, count_ns(moment), float(value["MetricValue"])


def _read_aiperf(document: Json) -> Iterator[Reading]:
    telemetry = document["telemetry_data"]
    key = next((key for key in _AIPERF_POWERS if key in telemetry), _AIPERF_POWERS[0])
    if telemetry[key] is not None:
        feed = f"{document.get('hostname', 'node')}/{document['gpu_index']}"
        yield feed, check_ns(int(document["timestamp_ns"])), float(telemetry[key])


_AIPERF_POWERS = ("nvidia_power_usage", "gpu_power_usage", "amd_power_usage", "power_usage")


def _read_amd_smi(document: Json) -> Iterator[Reading]:
    parts = document.get("gpu_data", [document])
    for part in parts:
        power = part["power"]["socket_power"]
        value = power["value"] if isinstance(power, dict) else power
        time = part.get("timestamp", document.get("timestamp"))
        time_ns = None if time is None else check_ns(round(float(time) * 1e6) * 1000)
        yield str(part["gpu"]), time_ns, float(value)


def _read_rocm_smi(document: Json) -> Iterator[Reading]:
    for card, values in document.items():
        for key, value in values.items() if isinstance(values, dict) else ():
            if "Graphics Package Power (W)" in key:
                yield card, None, float(value)
                break


def _read_zeus(document: Json) -> Iterator[Reading]:
    for gpu, samples in document.items():
        if isinstance(samples, dict):
            raise ValueError(f"several domains of power such as {gpu!r}; write the timeline of one")
        for time_s, power_w in samples:
            yield gpu, check_ns(round(float(time_s) * 1e6) * 1000), float(power_w)


_SUPPLY = r".*PowerSupplies/\w+(/Metrics#)?/(InputPowerWatts|PowerInputWatts)(/Reading)?"
"""The input of a power supply in Redfish. Other powers may be parts of each other."""
LAYOUTS = (
    JsonLayout(
        "prometheus",
        "Prometheus, an answer of query_range",
        "2 and 3",
        "values of a matrix, in W by the name of the metric",
        '"resultType"',
        _read_prometheus,
        is_grid=True,
    ),
    JsonLayout(
        "redfish-telemetry",
        "Redfish TelemetryService, MetricReport",
        "1.3 and later",
        "MetricValue of metrics of power",
        '"MetricValues"',
        _read_redfish,
        adds=_SUPPLY,
    ),
    JsonLayout(
        "aiperf",
        "AIPerf, gpu_telemetry_export.jsonl",
        "0.2 to 0.13",
        ", ".join(_AIPERF_POWERS),
        '"telemetry_data"',
        _read_aiperf,
        part="accelerators",
    ),
    JsonLayout(
        "amd-smi-json",
        "amd-smi metric -p --json",
        "ROCm 6 and 7",
        "power.socket_power of each gpu",
        '"socket_power"',
        _read_amd_smi,
        part="accelerators",
    ),
    JsonLayout(
        "rocm-smi-json",
        "rocm-smi --showpower --json, in a loop",
        "ROCm 5 to 7",
        "Graphics Package Power (W) of each card",
        "Graphics Package Power (W)",
        _read_rocm_smi,
        part="accelerators",
    ),
    JsonLayout(
        "zeus-timeline",
        "Zeus, PowerMonitor.get_power_timeline(…) as JSON",
        "0.13 to 0.16",
        "time and power of each GPU where the power changes",
        "[[",
        _read_zeus,
        part="accelerators",
        interval=Interval.UNTIL_NEXT,
    ),
)
