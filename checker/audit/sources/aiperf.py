"""AIPerf: exports of a profile with the telemetry of its boards.

Source: https://github.com/ai-dynamo/aiperf. Energies of telemetry are in MJ, energy per token in
mJ. The samples in gpu_telemetry_export.jsonl hold an energy counter, which is interpolated to the
window of the profiling phase.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from checker.audit.folder import (
    Folder,
    Json,
    UnreadableError,
    require_number,
    take_list,
    take_number,
    take_object,
    take_text,
)
from checker.audit.series import Series, integrate, make_series
from rules.audit.row import Basis, Check, Figure, Row, Topic
from rules.bundle_format.table import Floats
from rules.metrics.power.window import counter_over_window

TITLE = "AIPerf (profile_export_aiperf.json)"
EXPORT, SAMPLES = "profile_export_aiperf.json", "gpu_telemetry_export.jsonl"
PHASES, RECORDS = "phase_manifest.json", "profile_export.jsonl"
_PROFILING = "profiling"
_POWER_KEYS = ("nvidia_power_usage", "gpu_power_usage", "amd_power_usage")
_COUNTER_KEYS = ("nvidia_energy_consumption", "energy_consumption", "amd_energy_consumption")
_VENDORS = ("nvidia_", "amd_", "")
_J_PER_MJ = 1e6
_COUNTER_TOLERANCE = 0.1
"""Counter and power samples a third of a second apart differ by 3 % where load starts."""


def find(folder: Folder) -> Iterator[str]:
    """The export."""
    if folder.has(EXPORT):
        yield EXPORT


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the profile."""
    export = folder.read_object(name)
    actual = folder.locate(name)
    duration_s = _take(export, "benchmark_duration", actual)
    tokens = _take(export, "total_osl", actual)
    counted = _count_tokens(folder)
    items = counted or (Figure(tokens, Basis.STATED, "total_osl") if tokens is not None else None)
    boards = list(_list_boards(export))
    failed = sum(
        int(take_number(error, "count", actual) or 0)
        for error in take_list(export, "error_summary")
        if isinstance(error, dict)
    )
    means = [_take_power(board, actual) for board in boards]
    mean_w = sum(w for w in means if w is not None) if None not in means and means else None
    row = Row(
        source="aiperf",
        place=actual,
        files=(name, SAMPLES, PHASES, RECORDS),
        board=take_text(boards[0], "gpu_name") if boards else "",
        boards=len(boards) or None,
        unit="output token",
        duration_s=duration_s,
        items=items,
        mean_power_w=mean_w,
        items_per_s=_take(export, "output_token_throughput", actual),
        checks=tuple(_check_tokens(export, actual, tokens, counted)),
        silent=tuple(f"power of board {i}: 0 W" for i, w in enumerate(means) if w == 0),
        unfinished=_describe_unfinished(export, failed),
        missing=("power cap",),
        remarks=("tokens are those of AIPerf's tokenizer, not of the server",),
    )
    window = _read_window(folder, export) if folder.has(SAMPLES) else None
    if window is None:
        yield _add_stated(row, export, actual)
    else:
        yield _add_samples(folder, row, export, window)


def _take(export: Json, key: str, file: str) -> float | None:
    """The mean of a metric of the export."""
    return take_number(take_object(export, key), "avg", file, key)


def _take_vendor(export: Json, key: str, file: str) -> float | None:
    """The mean of a metric whose key has the vendor before it in newer exports."""
    values = (_take(export, f"{vendor}{key}", file) for vendor in _VENDORS)
    return next((value for value in values if value is not None), None)


def _list_boards(export: Json) -> Iterator[Json]:
    endpoints = take_object(take_object(export, "telemetry_data"), "endpoints")
    for endpoint in endpoints.values():
        if isinstance(endpoint, dict):
            yield from (b for b in take_object(endpoint, "gpus").values() if isinstance(b, dict))


def _take_power(board: Json, file: str) -> float | None:
    metrics = take_object(board, "metrics")
    for key in _POWER_KEYS:
        if key in metrics:
            return take_number(take_object(metrics, key), "avg", file, key)
    return None


def _describe_unfinished(export: Json, failed: int) -> str:
    texts = []
    if export.get("was_cancelled") is True:
        texts.append("the run was cancelled")
    if failed:
        texts.append(f"{failed} requests failed")
    return ", and ".join(texts)


def _count_tokens(folder: Folder) -> Figure | None:
    """The output tokens of the records of requests, None without such records."""
    if not folder.has(RECORDS):
        return None
    actual = folder.locate(RECORDS)
    lengths = []
    for number, record in folder.read_json_lines(RECORDS):
        is_profiling = take_object(record, "metadata").get("benchmark_phase") == _PROFILING
        if is_profiling and not record.get("error"):
            cell = take_object(take_object(record, "metrics"), "output_sequence_length")
            lengths.append(take_number(cell, "value", actual, f"line {number}"))
    token_counts = [length for length in lengths if length is not None]
    how = f"the lengths in {len(token_counts)} records of requests"
    return Figure(sum(token_counts), Basis.LOG, how) if token_counts else None


def _check_tokens(
    export: Json, file: str, tokens: float | None, counted: Figure | None
) -> Iterator[Check]:
    """Tokens against length and rate. AIPerf computes all three from the same requests."""
    requests = _take(export, "request_count", file)
    length = _take(export, "output_sequence_length", file)
    rate, duration_s = (
        _take(export, "output_token_throughput", file),
        _take(export, "benchmark_duration", file),
    )
    if tokens is None:
        return
    if counted:
        yield Check(Topic.RATE, "total_osl", "tokens", tokens, counted.value, counted.how)
    if requests is not None and length is not None:
        how = "request_count x output_sequence_length"
        computed = requests * length
        yield Check(Topic.RATE, "total_osl", "tokens", tokens, computed, how, by_construction=True)
    if rate is not None and duration_s is not None:
        how = "output_token_throughput x benchmark_duration"
        computed = rate * duration_s
        yield Check(Topic.RATE, "total_osl", "tokens", tokens, computed, how, by_construction=True)


def _add_stated(row: Row, export: Json, file: str) -> Row:
    """The row with the energy that the export states, or mean power times duration."""
    stated_j = _take_vendor(export, "total_gpu_energy", file)
    lacking = ("samples", "window")
    of_boards_j = _sum_counters(export, file)
    how = "total_gpu_energy"
    if stated_j is None and of_boards_j is not None:
        stated_j, how = of_boards_j, "the energy counters of the telemetry"
    if stated_j is not None:
        checks = (*row.checks, *_check_energy(export, file, row, stated_j))
        energy = Figure(stated_j, Basis.STATED, how)
        silent = (f"{how}: 0 J",) if stated_j == 0 else ()
        return replace(
            row,
            energy_j=energy,
            checks=checks,
            silent=(*row.silent, *silent),
            missing=(*lacking, *row.missing),
        )
    if row.mean_power_w is None or row.duration_s is None:
        return replace(row, missing=("power", *lacking, *row.missing))
    how = "mean power of the telemetry x benchmark_duration"
    energy = Figure(row.mean_power_w * row.duration_s, Basis.DERIVED, how)
    remark = "the telemetry lasts longer than the benchmark, so its mean is of another time"
    return replace(
        row,
        energy_j=energy,
        missing=(*lacking, "energy counter", *row.missing),
        remarks=(*row.remarks, remark),
    )


def _sum_counters(export: Json, file: str) -> float | None:
    """The rises of the energy counters of all boards in J, None if a board has none."""
    energies_j = []
    for board in _list_boards(export):
        metrics = take_object(board, "metrics")
        counter = next((take_object(metrics, k) for k in _COUNTER_KEYS if k in metrics), {})
        # A counter whose lowest and highest reading are stated has no rise as its mean.
        low, high = take_number(counter, "min", file), take_number(counter, "max", file)
        rise = take_number(counter, "avg", file) if low is None or high is None else high - low
        if rise is None:
            return None
        energies_j.append(_J_PER_MJ * rise)
    return sum(energies_j) if energies_j else None


def _check_energy(export: Json, file: str, row: Row, stated_j: float) -> Iterator[Check]:
    """The stated energy against what the export derives from it, in its other units."""
    of_boards_j = _sum_counters(export, file)
    if of_boards_j is not None:
        yield Check(
            *(Topic.PARTS, "energy of all boards", "J", stated_j, of_boards_j),
            "the sum of their counters",
            by_construction=True,
        )
    per_token_mj = _take_vendor(export, "energy_per_output_token", file)
    if per_token_mj is not None and row.items and row.items.value:
        computed = 1e3 * stated_j / row.items.value
        how = "total_gpu_energy / total_osl"
        quantity = "energy_per_output_token"
        yield Check(Topic.RATE, quantity, "mJ", per_token_mj, computed, how, by_construction=True)
    per_request = _take_vendor(export, "energy_per_request", file)
    requests = _take(export, "request_count", file)
    if per_request is not None and requests:
        computed = stated_j / requests
        how = "total_gpu_energy / request_count"
        yield Check(
            Topic.RATE, "energy_per_request", "J", per_request, computed, how, by_construction=True
        )
    average_w = _take_vendor(export, "average_gpu_power", file)
    if average_w is not None and row.duration_s:
        computed = average_w * row.duration_s
        how = "average_gpu_power x benchmark_duration"
        yield Check(
            Topic.POWER_TIMES_TIME,
            "total_gpu_energy",
            "J",
            stated_j,
            computed,
            how,
            by_construction=True,
        )


def _add_samples(folder: Folder, row: Row, export: Json, window: tuple[float, float]) -> Row:
    """The row recomputed from the energy counters of the samples."""
    file = row.place
    series, counters = _read_samples(folder)
    summed = integrate(series, window)
    checks = list(row.checks)
    energy = summed.figure
    remarks = [f"from the power samples: {summed.energy_j:.8g} J"]
    if len(counters) == len(series):
        shift_s = summed.traces[0].shift_s
        rises = [
            counter_over_window(times_s + shift_s, counter_j, *window)
            for times_s, counter_j in counters.values()
        ]
        energy_j, low_j, high_j = (sum(values) for values in zip(*rises, strict=True))
        how = "energy counters, interpolated to the window"
        energy = Figure(energy_j, Basis.COUNTER, how, low_j, high_j)
        how = "the trapezoid of the power samples"
        checks.append(
            Check(
                *(Topic.ENERGY_OF_SAMPLES, "rise of the energy counters", "J"),
                *(energy_j, summed.energy_j, how),
                tolerance=_COUNTER_TOLERANCE,
            )
        )
    stated_j = _take_vendor(export, "total_gpu_energy", file)
    if stated_j is not None and energy:
        quantity = "total_gpu_energy"
        checks.append(
            Check(Topic.ENERGY_OF_SAMPLES, quantity, "J", stated_j, energy.value, energy.how)
        )
        checks += _check_energy(export, file, row, stated_j)
        remarks.append(f"the export states {stated_j:.8g} J")
    length_s = window[1] - window[0]
    if row.duration_s is not None:
        quantity, how = "benchmark_duration", "end - start of the profiling phase"
        checks.append(Check(Topic.DURATION, quantity, "s", row.duration_s, length_s, how))
    return replace(
        row,
        duration_s=length_s,
        boards=len(series),
        energy_j=energy,
        mean_power_w=energy.value / length_s if energy else None,
        checks=tuple(checks),
        traces=summed.traces,
        remarks=(*row.remarks, *remarks),
    )


def _read_window(folder: Folder, export: Json) -> tuple[float, float] | None:
    """Start and end of the profiling phase in unix s; without a manifest of phases those of the
    export, which have no zone and are taken for UTC. None without either. Raises
    UnreadableError."""
    if not folder.has(PHASES):
        texts = [take_text(export, key) for key in ("start_time", "end_time")]
        with contextlib.suppress(ValueError):
            start_s, end_s = (
                datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for text in texts
            )
            return (start_s, end_s) if end_s > start_s else None
        return None
    actual = folder.locate(PHASES)
    phases = [
        phase
        for phase in take_list(folder.read_object(PHASES), "phases")
        if isinstance(phase, dict) and phase.get("phase_kind") == _PROFILING
    ]
    if len(phases) != 1:
        raise UnreadableError(
            actual, f"has {len(phases)} phases of profiling and not one; audit each run by itself"
        )
    start_ns, end_ns = (require_number(phases[0], k, actual) for k in ("start_ns", "end_ns"))
    return start_ns / 1e9, end_ns / 1e9


def _read_samples(folder: Folder) -> tuple[list[Series], dict[str, tuple[Floats, Floats]]]:
    """The power of each board as a series, and times and values in J of its energy counter."""
    powers: dict[str, list[tuple[float, float]]] = {}
    energies: dict[str, list[tuple[float, float]]] = {}
    actual = folder.locate(SAMPLES)
    for number, sample in folder.read_json_lines(SAMPLES):
        place = f"line {number}"
        board = take_text(sample, "gpu_uuid") or take_text(sample, "gpu_index")
        time_s = require_number(sample, "timestamp_ns", actual, place) / 1e9
        data = take_object(sample, "telemetry_data")
        for keys, found, factor in (
            (_POWER_KEYS, powers, 1.0),
            (_COUNTER_KEYS, energies, _J_PER_MJ),
        ):
            value = next(
                (v for k in keys if (v := take_number(data, k, actual, place)) is not None), None
            )
            if value is not None:
                found.setdefault(board, []).append((time_s, factor * value))
    if not powers:
        raise UnreadableError(actual, "has no power; restore the file")
    series = [make_series(f"board {i}", rows, boards=1) for i, rows in enumerate(powers.values())]
    counters = {}
    for board, rows in energies.items():
        values = np.array(rows, dtype=np.float64)
        counters[board] = values[:, 0], values[:, 1]
    return series, counters
