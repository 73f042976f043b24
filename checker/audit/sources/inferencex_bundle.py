"""The audit bundle of a point of InferenceX: its record of validation and its samples.

The record states the window, the energy of each board and, in newer bundles, the tokens. Source:
https://github.com/SemiAnalysisAI/InferenceX-app.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from checker.audit.folder import (
    Folder,
    Json,
    require_number,
    take_list,
    take_number,
    take_object,
    take_text,
)
from checker.audit.series import Integrated, Series, integrate
from checker.audit.sources.nvidia_smi import SAMPLES, read_samples
from rules.audit.row import Basis, Check, Figure, Row, Topic

_VALIDATION = "power_validation"
_METRICS = ("avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j")


def add_bundle(folder: Folder, row: Row, point: Json) -> Row:
    """The row with what the bundle beside it proves; as it is without a bundle."""
    name = _find_validation(folder, point)
    if not name:
        return row
    record = folder.read_object(name)
    row = replace(row, files=(*row.files, name))
    if record.get("power_valid") is False:
        reasons = tuple(str(reason) for reason in take_list(record, "reasons"))
        return replace(
            row,
            energy_j=None,
            items=None,
            joules_per_item=None,
            invalid_reasons=reasons or (f"power_valid is false in {name}",),
        )
    window = take_object(record, "benchmark_window")
    start_s = require_number(window, "start_time_unix", name)
    end_s = require_number(window, "end_time_unix", name)
    checks = [*row.checks, *_check_record(record, point, row, name, end_s - start_s)]
    items = _count_tokens(row, window, name, end_s - start_s)
    row = replace(row, checks=tuple(checks), items=items, duration_s=end_s - start_s)
    samples = [file for file in folder.names if SAMPLES.fullmatch(file)]
    if len(samples) != 1:
        return row
    series = read_samples(folder, samples[0])
    summed = integrate(series, (start_s, end_s))
    checks += _check_samples(record, row, name, series, summed)
    return replace(
        row,
        files=(*row.files, samples[0]),
        boards=len(series),
        energy_j=summed.figure,
        joules_per_item=None if items else row.joules_per_item,
        mean_power_w=summed.mean_power_w if summed.figure else None,
        checks=tuple(checks),
        traces=summed.traces,
        missing=("log of the requests", "power cap"),
    )


def _find_validation(folder: Folder, point: Json) -> str:
    """The record that the point names, else the only one; empty without one."""
    named = take_text(take_object(point, "power_audit"), "source")
    names = [
        name
        for name in folder.names
        if name.startswith(_VALIDATION)
        and name.endswith(".json")
        and "benchmark_window" in (folder.peek_object(name) or {})
    ]
    if named in names:
        return named
    return names[0] if len(names) == 1 else ""


def _count_tokens(row: Row, window: Json, name: str, seconds: float) -> Figure | None:
    tokens = take_number(window, "total_output_tokens", name)
    if tokens is not None:
        return Figure(tokens, Basis.STATED, f"total_output_tokens of {name}")
    if row.items_per_s is None:
        return row.items
    return Figure(row.items_per_s * seconds, Basis.DERIVED, "stated rate x window")


def _check_record(
    record: Json, point: Json, row: Row, name: str, seconds: float
) -> Iterator[Check]:
    """The record against the point."""
    window, metrics = take_object(record, "benchmark_window"), take_object(record, "metrics")
    for key in _METRICS:
        stated, other = take_number(point, key, name), take_number(metrics, key, name)
        if stated is not None and other is not None:
            unit = key.rpartition("_")[2].upper()
            yield Check(Topic.POWER_TIMES_TIME, key, unit, stated, other, f"metrics of {name}")
    energy_j = row.energy_j.value if row.energy_j else None
    if energy_j is not None and row.mean_power_w is not None:
        how = f"avg_total_gpu_power_w x window of {name}"
        computed = row.mean_power_w * seconds
        yield Check(Topic.POWER_TIMES_TIME, "total_gpu_energy_j", "J", energy_j, computed, how)
    duration_s = take_number(window, "integration_duration_s", name)
    if duration_s is not None:
        yield Check(
            Topic.DURATION, "integration_duration_s", "s", duration_s, seconds, "end - start"
        )
    for key, metric in (
        ("completed", "joules_per_successful_query"),
        ("total_input_tokens", "joules_per_input_token"),
        ("total_output_tokens", "joules_per_output_token"),
    ):
        count, stated = take_number(window, key, name), take_number(point, metric, name)
        if count and stated is not None and energy_j is not None:
            how = f"total_gpu_energy_j / {key} of {name}"
            yield Check(Topic.RATE, metric, "J", stated, energy_j / count, how)
    tokens = take_number(window, "total_output_tokens", name)
    if tokens is not None and row.items_per_s is not None and seconds > 0:
        how = f"total_output_tokens / window of {name}"
        computed = tokens / seconds
        yield Check(Topic.RATE, "rate of output tokens", "tokens/s", row.items_per_s, computed, how)


def _check_samples(
    record: Json, row: Row, name: str, series: Sequence[Series], summed: Integrated
) -> Iterator[Check]:
    """The stated energies against those of the samples."""
    if row.energy_j and summed.figure:
        how = "the trapezoid of the samples"
        stated_j, computed_j = row.energy_j.value, summed.energy_j
        yield Check(Topic.ENERGY_OF_SAMPLES, "total_gpu_energy_j", "J", stated_j, computed_j, how)
    per_board = take_object(record, "per_gpu_energy_j")
    for item, part in zip(series, summed.parts, strict=True):
        stated = take_number(per_board, item.label.removeprefix("board "), name)
        if stated is not None and summed.figure:
            quantity = f"per_gpu_energy_j of {item.label}"
            how = "the trapezoid of its samples"
            yield Check(Topic.ENERGY_OF_SAMPLES, quantity, "J", stated, part.energy_j, how)
    expected = take_number(record, "expected_gpu_count", name)
    if expected is not None:
        how = "boards with samples"
        yield Check(Topic.COUNT, "expected_gpu_count", "boards", expected, len(series), how)
