"""MLPerf inference with power: LoadGen's logs and PTDaemon's power log.

Source: https://github.com/mlcommons/power-dev and https://github.com/mlcommons/inference. The power
of record is the plain mean of the readings from power_begin to power_end. Both logs are in UTC,
whatever `timezone` the director states.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1

from checker.audit.folder import Folder, Json, UnreadableError, parse_object, take_number
from checker.audit.ptd import parse_time, read_power_log
from checker.audit.series import make_trace
from rules.audit.row import Basis, Check, Figure, FileHash, Row, Scope, Topic
from rules.metrics.power.window import WindowEnergy, find_clock_shift, integrate_window

TITLE = "MLPerf inference (mlperf_log_detail.txt, spl.txt)"
DETAIL, SUMMARY, POWER_LOG = "mlperf_log_detail.txt", "mlperf_log_summary.txt", "spl.txt"
RECORDS = ("server.json", "client.json")
_TOKEN = ":::MLLOG"
_RATES = (
    "result_samples_per_second",
    "result_completed_samples_per_sec",
    "result_qps_with_loadgen_overhead",
)
_TOKEN_RATES = ("result_tokens_per_second", "result_completed_tokens_per_second")
_SUMMARY_RATE = re.compile(
    r"^(Samples per second|Completed samples per second|QPS w/ loadgen overhead) *: *(\S+)", re.M
)
_OTHER_SESSION = "ranging"
_RATE_TOLERANCE = 0.01
"""The window of the power begins and ends some ms beside that of LoadGen, and holds the tail of the
last queries."""
_LATENCY_TOLERANCE = 0.1


def find(folder: Folder) -> Iterator[str]:
    """LoadGen's detailed log, else its summary. The ranging session before the measurement has
    both too and is no result."""
    if folder.path.name == _OTHER_SESSION:
        return
    for name in (DETAIL, SUMMARY):
        if folder.has(name):
            yield name
            return


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the run."""
    if name == SUMMARY:
        yield _read_summary(folder)
        return
    values = _read_values(folder)
    actual = folder.locate(DETAIL)
    window = _read_window(values, actual)
    items, rate, checks, remarks = _count_items(values, actual, window)
    scenario = str(values.get("effective_scenario", values.get("requested_scenario", "")))
    row = Row(
        source="mlperf-inference",
        place=actual,
        files=(DETAIL, SUMMARY, POWER_LOG, *RECORDS),
        workload=scenario,
        scope=Scope.NODE,
        unit="sample",
        duration_s=window[1] - window[0] if window else None,
        items=items,
        items_per_s=rate,
        checks=checks,
        unfinished=""
        if values.get("result_validity", "VALID") == "VALID"
        else f"result_validity is {values['result_validity']}",
        missing=("idle power", "power cap", "readings of the boards"),
        remarks=remarks,
    )
    yield _add_power(folder, row, values, window)


def _read_values(folder: Folder) -> Json:
    """The values of the log by key."""
    values: Json = {}
    actual = folder.locate(DETAIL)
    for number, line in enumerate(folder.read_text(DETAIL).splitlines(), 1):
        _, token, text = line.partition(_TOKEN)
        if token:
            entry = parse_object(actual, number, text)
            values[str(entry.get("key"))] = entry.get("value")
    if not values:
        raise UnreadableError(actual, f"has no line with {_TOKEN}; restore the file")
    return values


def _read_window(values: Json, file: str) -> tuple[float, float] | None:
    texts = values.get("power_begin"), values.get("power_end")
    if None in texts:
        return None
    start_s, end_s = (parse_time(str(text), file, "power_begin or power_end") for text in texts)
    if not end_s > start_s:
        raise UnreadableError(file, "power_end is not after power_begin; restore both lines")
    return start_s, end_s


def _count_items(
    values: Json, file: str, window: tuple[float, float] | None
) -> tuple[Figure | None, float | None, tuple[Check, ...], tuple[str, ...]]:
    """Items, rate, checks and remarks."""
    rate = next((r for key in _RATES if (r := take_number(values, key, file)) is not None), None)
    queries = take_number(values, "result_query_count", file)
    per_query = take_number(values, "generated_samples_per_query", file)
    effective = take_number(values, "effective_samples_per_query", file)
    if per_query is None:
        per_query = effective
    remarks = []
    items = None
    if queries is not None and per_query is not None:
        how = "result_query_count x generated_samples_per_query"
        items = Figure(queries * per_query, Basis.LOG, how)
        if effective not in (None, per_query):
            remarks.append(
                f"effective_samples_per_query is {effective:g}; {per_query:g} samples were run"
            )
    elif rate is not None and window:
        items = Figure(
            round(rate * (window[1] - window[0])), Basis.DERIVED, "stated rate x window, rounded"
        )
        remarks.append("the log has no count of completed queries")
    checks = []
    if items and rate is not None and window:
        seconds = window[1] - window[0]
        how = "items / window"
        is_circular = items.basis == Basis.DERIVED
        checks.append(
            Check(
                *(Topic.RATE, "rate", "samples/s", rate, items.value / seconds, how),
                tolerance=_RATE_TOLERANCE,
                by_construction=is_circular,
            )
        )
    latency_ns = take_number(values, "result_mean_latency_ns", file)
    if rate is not None and latency_ns and values.get("effective_scenario") == "SingleStream":
        # The time between two queries is not in the latency: 6 % of the time of a fast system.
        checks.append(
            Check(
                *(Topic.RATE, "rate", "samples/s", rate, 1e9 / latency_ns, "1 / mean latency"),
                tolerance=_LATENCY_TOLERANCE,
            )
        )
    return items, rate, tuple(checks), tuple(remarks)


def _add_power(folder: Folder, row: Row, values: Json, window: tuple[float, float] | None) -> Row:
    """The row with its energy, if there are readings and a window."""
    if not folder.has(POWER_LOG) or window is None:
        lacking = "power log (spl.txt)" if window else "power_begin and power_end"
        return replace(row, missing=(lacking, *row.missing))
    series, checks = read_power_log(folder, POWER_LOG)
    shift_s = find_clock_shift(*series.span, *window)
    part = integrate_window(series.times_s + shift_s, series.power_w, *window)
    if not part.readings:
        trace = make_trace(series, part, shift_s)
        return replace(row, traces=(trace,), missing=("readings in the window", *row.missing))
    mean_w = part.readings_mean_w
    energy_j = mean_w * part.duration_s
    whole_w = float(series.power_w.mean())
    return replace(
        row,
        energy_j=_place_interval(energy_j, part),
        mean_power_w=mean_w,
        checks=(*row.checks, *checks),
        traces=(make_trace(series, part, shift_s),),
        hashes=tuple(_read_hashes(folder)),
        remarks=(
            f"by the trapezoid: {part.energy_j:.8g} J, {part.mean_power_w:.8g} W",
            f"the mean over the whole power log, {whole_w:.6g} W, holds ramp and idle too",
            "the power is that of the whole node at the wall",
            *_describe_tokens(values, folder.locate(DETAIL), mean_w),
            *row.remarks,
        ),
    )


def _place_interval(energy_j: float, part: WindowEnergy) -> Figure:
    """The energy by MLCommons' way with the interval of the trapezoid, which lies elsewhere by the
    edges of the window."""
    low_j, high_j = min(energy_j, part.low_j), max(energy_j, part.high_j)
    how = f"mean of {part.readings} readings x window, as MLCommons does"
    return Figure(energy_j, Basis.SAMPLES, how, low_j, high_j)


def _describe_tokens(values: Json, file: str, mean_w: float) -> Iterator[str]:
    for key in _TOKEN_RATES:
        if rate := take_number(values, key, file):
            yield f"mean power / {key}: {mean_w / rate:.6g} J per token, from a stated rate"


def _read_hashes(folder: Folder) -> Iterator[FileHash]:
    """The SHA-1 of the power log, stated by the director's server and client."""
    for place in (folder, folder.open("../power")):
        for name in RECORDS:
            records = place.peek_object(name) if place.has(name) else None
            results = records.get("results") if records else None
            if not isinstance(results, dict):
                continue
            keys = [
                key
                for key in results
                if key.split("/")[-1] == POWER_LOG and _OTHER_SESSION not in key
            ]
            keys = [key for key in keys if key.split("/")[0] == folder.path.name] or keys
            if len(keys) == 1 and isinstance(results[keys[0]], str):
                content = folder.read_bytes(POWER_LOG)
                yield FileHash(
                    folder.locate(POWER_LOG), results[keys[0]].lower(), sha1(content).hexdigest()
                )


def _read_summary(folder: Folder) -> Row:
    """The row of a result of which only the summary is left."""
    actual = folder.locate(SUMMARY)
    text = folder.read_text(SUMMARY)
    scenario = re.search(r"^Scenario *: *(.+)$", text, re.M)
    match = _SUMMARY_RATE.search(text)
    if scenario is None:
        raise UnreadableError(actual, "has no line 'Scenario : …'; restore the file")
    return Row(
        source="mlperf-inference",
        place=actual,
        files=(SUMMARY,),
        workload=scenario[1].strip(),
        scope=Scope.NODE,
        unit="sample",
        items_per_s=take_number({"rate": match[2]}, "rate", actual) if match else None,
        missing=("detailed log", "power log (spl.txt)", "window", "items"),
    )
