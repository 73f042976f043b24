"""MLPerf training with power: the MLLOG log of a run and the power logs of its nodes.

Source: https://github.com/mlcommons/training_policies and https://github.com/mlcommons/logging. The
window is run_start to run_stop, the latest stamps of these keys and not the last lines. Readings
stay as metered; `conversion_eff`, by which MLCommons multiplies them, is stated beside.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.audit.folder import (
    Folder,
    Json,
    UnreadableError,
    parse_object,
    require_number,
    take_number,
    take_object,
)
from checker.audit.series import Series, integrate, make_series
from rules.audit.row import Basis, Figure, Row, Scope

TITLE = "MLPerf training (result_*.txt, node_*.txt)"
_RESULT = re.compile(r"result_(?P<run>[\w.-]+)\.txt")
_POWER = re.compile(r"(?P<side>.*?)(?P<kind>node|sw)_(?P<number>\d+)\.txt")
_TOKEN = ":::MLLOG"
_READING, _ESTIMATE = "power_reading", "interconnect_power_est"
_START, _STOP = "power_measurement_start", "power_measurement_stop"
_BOARDS = re.compile(r"(?:(?<!\d)(\d)x|x(\d))((?:GB|GH|MI|[ABHV])\d{2,3}X?)(?![\dA-Z])")
_MIN_FLOPS = {
    # The U-Net of Stable Diffusion v2 on latents; forward pass and gradients.
    "stable_diffusion": 2.409e12,
    # 70 G parameters, forward pass and gradients of activations, sequences of 8192 tokens.
    "llama2_70b_lora": 4 * 70e9 * 8192,
    "resnet": 24.3e9,
}
"""Lower bounds of the operations per sample."""
_NARROWEST = "fp8"
"""The narrowest precision in which boards train."""
_SCOPES = {"node": Scope.NODES, "sw": Scope.SWITCH}


@dataclass(frozen=True)
class _PowerLog:
    name: str
    side: str
    """What tells apart logs of one run on several sides of the supply, such as `dc-`."""
    kind: str
    series: Series | None
    """None where the log has an estimate alone."""
    estimate_w: float | None
    start_s: float | None
    stop_s: float | None
    conversion: float | None

    @property
    def group(self) -> tuple[str, str, bool]:
        """What the logs of one row have in common."""
        return self.side, self.kind, self.series is None

    @property
    def marks_fault(self) -> str:
        """How the marks miss the readings; empty if they do not."""
        if self.series is None or self.start_s is None or self.stop_s is None:
            return ""
        first_s, last_s = self.series.span
        if self.stop_s > max(self.start_s, first_s) and self.start_s < last_s:
            return ""
        return (
            f"{self.name}: start and stop are {self.stop_s - self.start_s:g} s apart, and the "
            f"first reading {first_s - self.start_s:g} s after the start"
        )

    def official_energy_j(self, run_s: float) -> float | None:
        """The energy by MLCommons' formula, None where it is not defined."""
        scale = 1.0 if self.conversion is None else self.conversion
        if self.series is None:
            return scale * (self.estimate_w or 0.0) * run_s
        if self.start_s is None or self.stop_s is None or self.stop_s <= self.start_s:
            return None
        times_s, power_w = self.series.times_s, self.series.power_w
        steps_j = (power_w * np.diff(times_s, prepend=self.start_s)).sum()
        return float(steps_j) * scale * run_s / (self.stop_s - self.start_s)


def find(folder: Folder) -> Iterator[str]:
    """Logs of runs with a run_start."""
    for name in folder.names:
        if _RESULT.fullmatch(name) and _TOKEN in folder.read_head(name):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for the nodes of the run, and one for its switches; each again for another side of the
    supply."""
    actual = folder.locate(name)
    values, times_s = _read_run(folder, name)
    start_s, stop_s = times_s.get("run_start"), times_s.get("run_stop")
    if start_s is None or stop_s is None or not stop_s > start_s:
        raise UnreadableError(actual, "has no run_start before a run_stop; restore both lines")
    items = _count_items(values, times_s, actual)
    status = take_object(values, "run_stop").get("status", "")
    row = Row(
        source="mlperf-training",
        place=actual,
        files=(name,),
        system=_take_value(values, "submission_platform"),
        workload=_take_value(values, "submission_benchmark"),
        scope=Scope.NODES,
        unit="sample",
        duration_s=stop_s - start_s,
        items=items,
        items_per_s=items.value / (stop_s - start_s) if items else None,
        unfinished="" if status == "success" else f"the status of run_stop is {status!r}",
        missing=("idle power", "power cap", "readings of the boards"),
    )
    place, logs = _find_logs(folder, name)
    if not logs:
        yield replace(row, missing=("power logs of the nodes", *row.missing))
        return
    for side, kind, is_estimated in sorted({log.group for log in logs}):
        group = [log for log in logs if log.group == (side, kind, is_estimated)]
        yield _add_power(row, place, side, kind, group, (start_s, stop_s))


def _read_run(folder: Folder, name: str) -> tuple[Json, dict[str, float]]:
    """For each key, its value and metadata as one object, and its latest time."""
    values: Json = {}
    times_s: dict[str, float] = {}
    for number, entry in _read_entries(folder, name):
        key = str(entry.get("key"))
        place = f"line {number}"
        time_s = require_number(entry, "time_ms", folder.locate(name), place) / 1e3
        if key == "run_start" and key in times_s:
            time_s = min(time_s, times_s[key])
        times_s[key] = time_s
        values[key] = {**take_object(entry, "metadata"), "value": entry.get("value")}
    return values, times_s


def _read_entries(folder: Folder, name: str) -> Iterator[tuple[int, Json]]:
    for number, line in enumerate(folder.read_text(name).splitlines(), 1):
        # A trace of the shell repeats lines between quotes.
        _, token, text = line.partition(_TOKEN)
        if token and text.lstrip().startswith("{"):
            yield number, parse_object(folder.locate(name), number, text)


def _take_value(values: Json, key: str) -> str:
    value = take_object(values, key).get("value")
    return str(value) if value is not None else ""


def _count_items(values: Json, times_s: dict[str, float], file: str) -> Figure | None:
    """The samples until run_stop, by the first of four ways that the log allows."""
    stop = take_object(values, "run_stop")
    batch = take_number(take_object(values, "global_batch_size"), "value", file)
    train = take_number(take_object(values, "train_samples"), "value", file)
    if count := take_number(stop, "samples_count", file):
        return Figure(count, Basis.LOG, "samples_count of run_stop")
    if (steps := take_number(stop, "step_num", file)) and batch:
        return Figure(steps * batch, Basis.LOG, "step_num of run_stop x global_batch_size")
    if (epochs := take_number(stop, "epoch_num", file)) and train:
        how = "epoch_num of run_stop x train_samples, rounded"
        return Figure(float(round(epochs * train)), Basis.LOG, how)
    for key in ("eval_stop", "eval_accuracy", "block_stop"):
        count = take_number(take_object(values, key), "samples_count", file)
        if count and times_s[key] <= times_s["run_stop"]:
            return Figure(count, Basis.LOG, f"samples_count of the last {key}")
    return None


def _find_logs(folder: Folder, name: str) -> tuple[str, list[_PowerLog]]:
    """The power logs of a run: in power/result_N/, or beside its log."""
    run = name.removesuffix(".txt")
    for inner in (f"power/{run}", "."):
        place = folder if inner == "." else folder.open(inner)
        if not place.path.is_dir() or place.path.is_symlink():
            continue
        others = [n for n in folder.names if _RESULT.fullmatch(n) and n != name]
        if inner == "." and others:
            continue  # whose logs they are is not known
        names = [n for n in place.names if _POWER.fullmatch(n)]
        if names:
            prefix = "" if inner == "." else f"{inner}/"
            return prefix, [_read_log(place, n) for n in names]
    return "", []


def _read_log(folder: Folder, name: str) -> _PowerLog:
    match = _POWER.fullmatch(name)
    assert match is not None
    actual = folder.locate(name)
    readings: list[tuple[float, float]] = []
    marks_s: dict[str, float] = {}
    estimate_w = conversion = None
    current = ""
    for number, entry in _read_entries(folder, name):
        key, place = entry.get("key"), f"line {number}"
        if key == _READING:
            time_s = require_number(entry, "time_ms", actual, place) / 1e3
            readings.append((time_s, require_number(entry, "value", actual, place)))
        elif key == _ESTIMATE and estimate_w is None:
            # MLCommons takes the first one.
            estimate_w = require_number(entry, "value", actual, place)
        elif key in (_START, _STOP):
            marks_s[str(key)] = require_number(entry, "time_ms", actual, place) / 1e3
        elif key == "conversion_eff":
            conversion = take_number(entry, "value", actual, place)
            current = str(take_object(entry, "metadata").get("measurement_type", ""))
    if not readings and estimate_w is None:
        raise UnreadableError(actual, f"has no {_READING} and no {_ESTIMATE}; restore the file")
    side = match["side"] or ("dc-" if current == "DC" else "")
    label = f"{match['kind']}_{match['number']}"
    return _PowerLog(
        name=actual,
        side=side,
        kind=match["kind"],
        series=make_series(label, readings) if readings else None,
        estimate_w=estimate_w,
        start_s=marks_s.get(_START),
        stop_s=marks_s.get(_STOP),
        conversion=conversion,
    )


def _add_power(
    row: Row,
    prefix: str,
    side: str,
    kind: str,
    logs: Sequence[_PowerLog],
    window: tuple[float, float],
) -> Row:
    duration_s = window[1] - window[0]
    series = [log.series for log in logs if log.series]
    if series:
        summed = integrate(series, window)
        energy, traces = summed.figure, summed.traces
        power_w = summed.mean_power_w if energy else None
    else:
        power_w = sum(log.estimate_w or 0.0 for log in logs)
        how = f"{_ESTIMATE} x window, as MLCommons does"
        energy, traces = Figure(power_w * duration_s, Basis.DERIVED, how), ()
    names = tuple(f"{prefix}{log.name}" for log in logs)
    model = _BOARDS.search(row.system)
    is_node = kind == "node"
    return replace(
        row,
        place=f"{row.place} with {prefix}{side}{kind}_*",
        files=(*row.files, *names),
        scope=_SCOPES[kind],
        board=model[3] if model and is_node else "",
        boards=int(model[1] or model[2]) * len(logs) if model and is_node else None,
        flops_per_item=_MIN_FLOPS.get(row.workload),
        precision=_NARROWEST,
        energy_j=energy,
        mean_power_w=power_w,
        items=row.items if is_node else None,
        traces=traces,
        unmatched_marks=tuple(fault for log in logs if (fault := log.marks_fault)),
        remarks=tuple(_describe(logs, duration_s, side, kind)),
    )


def _describe(logs: Sequence[_PowerLog], duration_s: float, side: str, kind: str) -> Iterator[str]:
    factors = sorted({log.conversion for log in logs if log.conversion is not None})
    official = [log.official_energy_j(duration_s) for log in logs]
    if factors:
        text = ", ".join(f"{factor:g}" for factor in factors)
        yield f"conversion_eff ({text}) is not applied: the energy is that of the readings"
    if any(energy is None for energy in official):
        yield "MLCommons' formula over the marks is not defined"
    else:
        total_j = sum(energy for energy in official if energy is not None)
        yield f"by MLCommons' formula, with conversion_eff: {total_j:.8g} J"
    if side:
        yield f"logs {side}*: another side of the same supply, not to be added to the others"
    if kind == "sw":
        yield "the power of switches, which is not in the row of the nodes"
    elif len(logs) > 1:
        yield f"the sum of {len(logs)} nodes"
