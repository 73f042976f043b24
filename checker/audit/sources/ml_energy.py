"""ML.ENERGY leaderboard, version 3: one JSON file per task or model with its configurations.

Source: https://github.com/ml-energy/leaderboard. Power, rate and energy per token are derived from
each other in steady state, so that their agreement proves nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.audit.folder import (
    Folder,
    UnreadableError,
    require_number,
    take_list,
    take_number,
    take_text,
)
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "ML.ENERGY leaderboard v3"


@dataclass(frozen=True)
class _Kind:
    """How the configurations of a kind of task name their figures."""

    unit: str
    energy: str
    rate: str


_KINDS = (
    _Kind("output token", "energy_per_token_joules", "output_throughput_tokens_per_sec"),
    _Kind("image", "energy_per_image_joules", "throughput_images_per_sec"),
    _Kind("video", "energy_per_video_joules", "throughput_videos_per_sec"),
)


def find(folder: Folder) -> Iterator[str]:
    """JSON files with such configurations."""
    for name in folder.names:
        document = folder.peek_object(name) if name.endswith(".json") else None
        rows = take_list(document, "configurations") if document else ()
        if rows and isinstance(rows[0], dict) and _find_kind(rows[0]):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each configuration."""
    document = folder.read_object(name)
    for number, values in enumerate(take_list(document, "configurations")):
        yield _read_row(values, name, f"configuration {number}", take_text(document, "task"))


def _find_kind(values: dict[str, Any]) -> _Kind | None:
    return next((kind for kind in _KINDS if kind.energy in values), None)


def _read_row(values: Any, name: str, place: str, task: str) -> Row:
    kind = _find_kind(values) if isinstance(values, dict) else None
    if kind is None:
        raise UnreadableError(name, f"{place} has no energy per item; restore it")
    stated_j = require_number(values, kind.energy, name, place)
    rate = take_number(values, kind.rate, name, place)
    power_w = take_number(values, "avg_power_watts", name, place)
    boards = take_number(values, "num_gpus", name, place)
    active = take_number(values, "activated_params_billions", name, place)
    batch = take_number(values, "max_num_seqs", name, place)
    return Row(
        source="ml-energy",
        place=f"{name} {place}",
        files=(name,),
        workload=" ".join(
            filter(None, (task, take_text(values, "nickname"), f"batch {batch:g}" if batch else ""))
        ),
        board=take_text(values, "gpu_model"),
        boards=round(boards) if boards else None,
        unit=kind.unit,
        joules_per_item=Figure(stated_j, Basis.STATED, kind.energy),
        mean_power_w=power_w,
        items_per_s=rate,
        flops_per_item=2e9 * active if active and kind is _KINDS[0] else None,
        precision=take_text(values, "weight_precision"),
        checks=tuple(_check(values, name, place, kind, stated_j, power_w, rate)),
        silent=(f"{kind.energy}: 0 J",) if stated_j == 0 else (),
        missing=("samples", "window", "number of items", "energy", "power cap"),
        remarks=("steady state only: the ramp at both ends is left out",),
    )


def _check(
    values: dict[str, Any],
    name: str,
    place: str,
    kind: _Kind,
    stated_j: float,
    power_w: float | None,
    rate: float | None,
) -> Iterator[Check]:
    def check(computed: float, how: str) -> Check:
        return Check(Topic.RATE, kind.energy, "J", stated_j, computed, how, by_construction=True)

    if power_w is not None and rate:
        yield check(power_w / rate, f"avg_power_watts / {kind.rate}")
    request_j = take_number(values, "energy_per_request_joules", name, place)
    length = take_number(values, "avg_output_len", name, place)
    if request_j is not None and length:
        yield check(request_j / length, "energy_per_request_joules / avg_output_len")
    latency_s = take_number(values, "batch_latency_s", name, place)
    batch = take_number(values, "batch_size", name, place)
    if power_w is not None and latency_s is not None and batch:
        yield check(power_w * latency_s / batch, "avg_power_watts x batch_latency_s / batch_size")
