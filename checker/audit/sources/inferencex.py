"""InferenceX: aggregates of one point with their audit bundle, and rows of its API.

Source: https://github.com/SemiAnalysisAI/InferenceX-app, metrics of schema version 2. The power is
that of all boards of the deployment. The number of boards is the ratio of the two powers; columns
of boards by role hold products of parallel sizes.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from checker.audit.folder import (
    Folder,
    Json,
    take_list,
    take_number,
    take_object,
    take_text,
)
from checker.audit.sources.inferencex_bundle import add_bundle
from checker.audit.sources.inferencex_ledger import compute_energy_j, count_tokens, find_record
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "InferenceX (aggregates, audit bundles, API rows)"
_VERSION_KEY, _KNOWN_VERSION = "power_metric_schema_version", 2
_CSV_COLUMNS = {_VERSION_KEY, "avg_power_w", "joules_per_output_token"}
_ACTIVE = re.compile(r"[-_]A(\d+(?:\.\d+)?)B", re.IGNORECASE)
_DENSE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B\b", re.IGNORECASE)


def find(folder: Folder) -> Iterator[str]:
    """Aggregates, rows of the API, and tables of such rows."""
    for name in folder.names:
        if name.endswith(".json"):
            document = folder.peek_object(name)
            if document and (
                _VERSION_KEY in document or _VERSION_KEY in take_object(document, "metrics")
            ):
                yield name
        elif name.endswith(".csv") and _CSV_COLUMNS.issubset(folder.read_header(name)):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The rows of one file."""
    if name.endswith(".csv"):
        for number, cells in enumerate(folder.read_rows(name), 2):
            yield _judge(cells, cells, name, f"row {number}")
        return
    document = folder.read_object(name)
    metrics = take_object(document, "metrics") or document
    row = _judge(document, metrics, name)
    row = replace(row, checks=(*row.checks, *_check_ledger(folder, document, metrics, name)))
    yield row if row.invalid_reasons else add_bundle(folder, row, {**document, **metrics})


def _judge(point: Json, metrics: Json, name: str, place: str = "") -> Row:
    """The row of one point, from its stated figures."""

    def take(key: str) -> float | None:
        return take_number(metrics, key, name, place)

    model = take_text(point, "model")
    board = take_text(point, "hw") or take_text(point, "hardware")
    is_split = str(point.get("disagg", "")).lower() == "true"
    row = Row(
        source="inferencex",
        place=f"{name} {place}".strip(),
        files=(name,),
        workload=" ".join(
            filter(None, (model, take_text(point, "precision"), f"conc {point.get('conc', '?')}"))
        ),
        board=board,
        unit="output token",
        precision=take_text(point, "precision"),
        flops_per_item=_bound_flops(model),
        missing=("samples", "window", "number of tokens", "power cap"),
    )
    if reasons := _find_reasons(point, metrics, take(_VERSION_KEY)):
        return replace(row, invalid_reasons=reasons)
    board_w, total_w = take("avg_power_w"), take("avg_total_gpu_power_w")
    energy_j, per_output = take("total_gpu_energy_j"), take("joules_per_output_token")
    boards = round(total_w / board_w) if total_w and board_w else None
    rate = take("output_tput_per_gpu")
    total_rate = rate * boards if rate is not None and boards and not is_split else None
    items = None
    if energy_j is not None and per_output:
        how = "total_gpu_energy_j / joules_per_output_token"
        items = Figure(energy_j / per_output, Basis.DERIVED, how)
    return replace(
        row,
        boards=boards,
        duration_s=energy_j / total_w if energy_j is not None and total_w else None,
        energy_j=Figure(energy_j, Basis.STATED, "total_gpu_energy_j")
        if energy_j is not None
        else None,
        items=items,
        joules_per_item=Figure(per_output, Basis.STATED, "joules_per_output_token")
        if per_output is not None
        else None,
        mean_power_w=total_w,
        board_power_w=board_w,
        items_per_s=total_rate,
        checks=tuple(_check_point(metrics, point, name, place, boards, is_split)),
        silent=("total_gpu_energy_j: 0 J",) if energy_j == 0 else (),
        remarks=(
            "the energy is that of all boards of the deployment, without processors and node",
            "an output token carries the energy of reading the prompt too",
        ),
    )


def _find_reasons(point: Json, metrics: Json, version: float | None) -> tuple[str, ...]:
    """Why a point has no power; empty if it has."""
    if version is None:
        return ("the point has no power metrics",)
    if version != _KNOWN_VERSION:
        return (f"{_VERSION_KEY} is {version:g}: the power of one worker, not of all boards",)
    if str(metrics.get("power_valid")).lower() in ("1", "1.0", "true"):
        return ()
    reasons = [str(reason) for reason in take_list(point, "power_invalid_reasons")]
    return tuple(reasons) or ("power_valid is not 1",)


def _bound_flops(model: str) -> float | None:
    """Two operations per active parameter and token, where the name of the model tells them."""
    match = _ACTIVE.search(model) or _DENSE.search(model)
    return 2e9 * float(match[1]) if match else None


def _check_point(
    metrics: Json, point: Json, name: str, place: str, boards: int | None, is_split: bool
) -> Iterator[Check]:
    """Every two ways to one figure that a point has."""

    def take(key: str) -> float | None:
        return take_number(metrics, key, name, place)

    board_w, total_w = take("avg_power_w"), take("avg_total_gpu_power_w")
    if board_w and total_w is not None:
        count = total_w / board_w
        yield Check(
            Topic.COUNT, "boards", "boards", count, max(1, round(count)), "the next whole number"
        )
        stated = take_number(point, "num_gpus", name, place)
        if stated is not None:
            how = "avg_total_gpu_power_w / avg_power_w"
            yield Check(Topic.COUNT, "num_gpus", "boards", stated, count, how)
    rates = {"total": take("tput_per_gpu")}
    if not is_split:
        rates |= {"output": take("output_tput_per_gpu"), "input": take("input_tput_per_gpu")}
    for kind, rate in rates.items():
        stated = take(f"joules_per_{kind}_token")
        if stated is not None and rate and board_w:
            how = f"power per board / {kind} tokens per second and board"
            quantity = f"joules_per_{kind}_token"
            yield Check(Topic.RATE, quantity, "J", stated, board_w / rate, how)
    per_input, per_output = take("joules_per_input_token"), take("joules_per_output_token")
    per_total = take("joules_per_total_token")
    if per_input and per_output and per_total is not None:
        both = 1 / (1 / per_input + 1 / per_output)
        how = "the energies per input and per output token"
        yield Check(Topic.RATE, "joules_per_total_token", "J", per_total, both, how)
    yield from _check_queries(metrics, point, name, place)
    yield from _check_window(metrics, point, name, place)
    if is_split:
        yield from _check_roles(metrics, point, name, place)


def _check_queries(metrics: Json, point: Json, name: str, place: str) -> Iterator[Check]:
    completed = take_number(take_object(point, "benchmark_outcome"), "completed", name, place)
    per_query = take_number(metrics, "joules_per_successful_query", name, place)
    energy_j = take_number(metrics, "total_gpu_energy_j", name, place)
    if completed and per_query is not None and energy_j is not None:
        how = "total_gpu_energy_j / completed queries"
        quantity = "joules_per_successful_query"
        yield Check(Topic.RATE, quantity, "J", per_query, energy_j / completed, how)


def _check_window(metrics: Json, point: Json, name: str, place: str) -> Iterator[Check]:
    audit = take_object(point, "power_audit")
    start_s = take_number(audit, "window_start_unix", name, place)
    end_s = take_number(audit, "window_end_unix", name, place)
    energy_j = take_number(metrics, "total_gpu_energy_j", name, place)
    total_w = take_number(metrics, "avg_total_gpu_power_w", name, place)
    if None not in (start_s, end_s, energy_j, total_w):
        assert start_s is not None and end_s is not None
        assert energy_j is not None and total_w is not None
        computed = total_w * (end_s - start_s)
        how = "avg_total_gpu_power_w x window of the audit"
        yield Check(Topic.POWER_TIMES_TIME, "total_gpu_energy_j", "J", energy_j, computed, how)
    expected = take_number(audit, "expected_gpu_count", name, place)
    observed = take_number(audit, "observed_gpu_count", name, place)
    if expected is not None and observed is not None:
        how = "expected_gpu_count"
        yield Check(Topic.COUNT, "observed_gpu_count", "boards", observed, expected, how)


def _check_roles(metrics: Json, point: Json, name: str, place: str) -> Iterator[Check]:
    """Prefill and decode run on boards of their own, whose energies add."""
    keys = ("prefill_joules_per_input_token", "joules_per_input_token")
    others = ("decode_joules_per_output_token", "joules_per_output_token")
    (prefill, per_input), (decode, per_output) = (
        [take_number(metrics, key, name, place) for key in pair] for pair in (keys, others)
    )
    if prefill is not None and decode is not None and per_input and per_output:
        share = prefill / per_input + decode / per_output
        yield Check(
            Topic.PARTS, "energy", "of the energy", 1.0, share, "the shares of prefill and decode"
        )
    prefill_w = take_number(metrics, "prefill_avg_power_w", name, place)
    decode_w = take_number(metrics, "decode_avg_power_w", name, place)
    board_w = take_number(metrics, "avg_power_w", name, place)
    counts = [take_number(point, f"num_{r}_gpu", name, place) for r in ("prefill", "decode")]
    if prefill_w is not None and decode_w is not None and board_w is not None and all(counts):
        first, second = (count or 0.0 for count in counts)
        mean_w = (first * prefill_w + second * decode_w) / (first + second)
        how = "prefill and decode, by their numbers of boards"
        yield Check(Topic.PARTS, "avg_power_w", "W", board_w, mean_w, how)


def _check_ledger(folder: Folder, point: Json, metrics: Json, name: str) -> Iterator[Check]:
    """The row of the API against the record of a replay ledger beside it."""
    record, ledger = find_record(folder, take_text(point, "id"))
    if record is None:
        return
    energy_j, tokens = compute_energy_j(record, ledger, ""), count_tokens(record, ledger)
    if (stated_j := take_number(metrics, "total_gpu_energy_j", name)) is not None:
        how = f"mean power x boards x duration of {ledger}"
        quantity = "total_gpu_energy_j"
        yield Check(Topic.POWER_TIMES_TIME, quantity, "J", stated_j, energy_j, how)
    stated = take_number(metrics, "joules_per_output_token", name)
    if stated is not None and tokens:
        how = f"energy / output tokens of {ledger}"
        yield Check(Topic.RATE, "joules_per_output_token", "J", stated, energy_j / tokens, how)
