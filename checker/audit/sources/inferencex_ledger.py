"""Replay ledgers of InferenceX: windows, tokens and mean power of points.

Source: https://github.com/SemiAnalysisAI/InferenceX-app, docs/data. The energy is rebuilt from a
mean power per board that is rounded to 0.001 W.
"""

from collections.abc import Iterator
from typing import Any

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
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "InferenceX replay ledgers"


def find(folder: Folder) -> Iterator[str]:
    """JSON files with such records."""
    for name in folder.names:
        document = folder.peek_object(name) if name.endswith(".json") else None
        if document and _is_ledger(document):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each record."""
    for number, record in enumerate(take_list(folder.read_object(name), "records")):
        yield _read_record(record, name, f"record {number}")


def find_record(folder: Folder, row_id: str) -> tuple[Json | None, str]:
    """The record of an API row in a ledger of the folder, and the name of the ledger."""
    for name in find(folder) if row_id else ():
        for record in take_list(folder.read_object(name), "records"):
            if isinstance(record, dict) and take_text(record, "row_id") == row_id:
                return record, name
    return None, ""


def compute_energy_j(record: Json, name: str, place: str) -> float:
    """Mean power per board x boards x duration."""
    window = take_object(record, "window")
    return (
        require_number(record, "source_avg_power_w", name, place)
        * require_number(record, "gpu_count", name, place)
        * require_number(window, "integration_duration_s", name, place)
    )


def count_tokens(record: Json, name: str) -> float | None:
    """The output tokens of a record."""
    return take_number(take_object(record, "window"), "total_output_tokens", name)


def _is_ledger(document: Json) -> bool:
    records = take_list(document, "records")
    return bool(records) and isinstance(records[0], dict) and "source_avg_power_w" in records[0]


def _read_record(record: Any, name: str, place: str) -> Row:
    """The row of one record of a replay ledger."""
    if not isinstance(record, dict):
        raise UnreadableError(name, f"{place} is no object; restore it")
    window = take_object(record, "window")

    def take(key: str) -> float:
        return require_number(window, key, name, place)

    duration_s = take("integration_duration_s")
    boards = round(require_number(record, "gpu_count", name, place))
    board_w = require_number(record, "source_avg_power_w", name, place)
    energy_j = compute_energy_j(record, name, place)
    tokens = count_tokens(record, name)
    row_id = take_text(record, "row_id")
    span_s = take("end_time_unix") - take("start_time_unix")
    how = "end - start"
    checks = [
        Check(Topic.DURATION, "integration_duration_s", "s", duration_s, span_s, how),
        Check(Topic.DURATION, "reported_duration_s", "s", take("reported_duration_s"), span_s, how),
    ]
    for share in ("p75", "p90"):
        per_board = take_number(record, f"{share}_power_w", name, place)
        total_w = take_number(record, f"{share}_total_gpu_power_w", name, place)
        if per_board and total_w is not None:
            quantity = f"{share}_total_gpu_power_w / {share}_power_w"
            checks.append(
                Check(Topic.COUNT, quantity, "boards", total_w / per_board, boards, "gpu_count")
            )
    valid = take_number(record, "source_power_valid", name, place)
    return Row(
        source="inferencex-ledger",
        place=f"{name} {place}",
        files=(name,),
        workload=f"row {row_id}, conc {record.get('conc', '?')}",
        board=take_text(record, "hardware"),
        boards=boards,
        unit="output token",
        duration_s=duration_s,
        energy_j=Figure(energy_j, Basis.DERIVED, "mean power per board x boards x duration"),
        items=Figure(tokens, Basis.STATED, "total_output_tokens") if tokens is not None else None,
        mean_power_w=board_w * boards,
        items_per_s=tokens / duration_s if tokens is not None and duration_s else None,
        checks=tuple(checks),
        invalid_reasons=("source_power_valid is not 1",) if valid == 0 else (),
        missing=("samples", "power cap"),
    )
