"""Power folders of srt-slurm: samples of every board, and the windows of the benchmarks.

Source: https://github.com/NVIDIA/srt-slurm. Times are unix seconds of the head node.
"""

from collections.abc import Iterator
from dataclasses import replace

from checker.audit.folder import (
    Folder,
    Json,
    UnreadableError,
    require_number,
    take_list,
    take_number,
    take_text,
)
from checker.audit.series import Series, integrate, make_series
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "srt-slurm (manifest.json, samples.csv, windows/)"
MANIFEST, SAMPLES, WINDOWS = "manifest.json", "samples.csv", "windows"
_COLUMNS = {"timestamp_unix", "hostname", "power_w"}
_COMPLETE = "complete"


def find(folder: Folder) -> Iterator[str]:
    """The samples."""
    if folder.has(SAMPLES) and _COLUMNS.issubset(folder.read_header(SAMPLES)):
        yield SAMPLES


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each window, or one for the span of the samples if there is none."""
    series = _read_series(folder)
    manifest = (folder.peek_object(MANIFEST) if folder.has(MANIFEST) else None) or {}
    status = take_text(manifest, "status")
    expected = len(take_list(manifest, "expected_devices"))
    checks = []
    if expected:
        how = "expected_devices of the manifest"
        checks.append(
            Check(Topic.COUNT, "boards with samples", "boards", len(series), expected, how)
        )
    row = Row(
        source="srt-slurm",
        place=folder.locate(name),
        files=(name, MANIFEST),
        boards=len(series),
        checks=tuple(checks),
        invalid_reasons=("publication_valid is false",)
        if manifest.get("publication_valid") is False
        else (),
        unfinished=f"the status of the manifest is {status!r}"
        if status and status != _COMPLETE
        else "",
        missing=("name of the boards", "power cap"),
        remarks=("the clock is that of the head node, not of the board",),
    )
    windows = folder.open(WINDOWS)
    names = [n for n in windows.names if n.endswith(".json")] if windows.path.is_dir() else []
    for inner in names:
        yield _read_window(folder, windows, inner, row, series)
    if not names:
        summed = integrate(series)
        yield replace(
            row,
            duration_s=summed.duration_s,
            energy_j=summed.figure,
            mean_power_w=summed.mean_power_w,
            traces=summed.traces,
            missing=("windows", "items", *row.missing),
            remarks=("the energy is that of the span of the samples", *row.remarks),
        )


def _read_series(folder: Folder) -> list[Series]:
    by_board: dict[tuple[str, str], list[tuple[float, float]]] = {}
    actual = folder.locate(SAMPLES)
    for number, cells in enumerate(folder.read_rows(SAMPLES), 2):
        place = f"row {number}"
        power_w = take_number(cells, "power_w", actual, place)
        if power_w is not None:
            time_s = require_number(cells, "timestamp_unix", actual, place)
            board = cells["hostname"], cells.get("gpu_index") or cells.get("gpu_uuid", "")
            by_board.setdefault(board, []).append((time_s, power_w))
    if not by_board:
        raise UnreadableError(actual, "has no samples; restore the file")
    return [
        make_series(f"{host} board {index}", rows, boards=1)
        for (host, index), rows in by_board.items()
    ]


def _read_window(folder: Folder, windows: Folder, name: str, row: Row, series: list[Series]) -> Row:
    window = windows.read_object(name)
    place = f"{WINDOWS}/{windows.locate(name)}"
    start_s, end_s = (
        require_number(window, key, place)
        for key in ("benchmark_start_time_unix", "benchmark_end_time_unix")
    )
    summed = integrate(series, (start_s, end_s))
    checks = list(row.checks)
    duration_s = take_number(window, "duration", place)
    if duration_s is not None:
        how = "end - start"
        checks.append(Check(Topic.DURATION, "duration", "s", duration_s, end_s - start_s, how))
    result = _find_result(folder, window)
    tokens = take_number(result, "total_output_tokens", place)
    status = take_text(window, "status")
    is_finished = status in ("", _COMPLETE, "completed", "success")
    return replace(
        row,
        place=place,
        unfinished=row.unfinished if is_finished else f"the status of the window is {status!r}",
        files=(*row.files, place, name),
        workload=" conc ".join(
            filter(None, (take_text(window, "benchmark_type"), take_text(window, "concurrency")))
        ),
        unit="output token",
        duration_s=end_s - start_s,
        energy_j=summed.figure,
        items=Figure(tokens, Basis.STATED, "total_output_tokens") if tokens is not None else None,
        mean_power_w=summed.mean_power_w,
        items_per_s=tokens / (end_s - start_s) if tokens is not None else None,
        checks=tuple(checks),
        traces=summed.traces,
        missing=row.missing if tokens is not None else ("items", *row.missing),
    )


def _find_result(folder: Folder, window: Json) -> Json:
    """The result of the benchmark: below the folder or the one above it, as the window says, or of
    that name in either."""
    parts = take_text(window, "result_path").split("/")
    inner = "/".join(parts[:-1])
    if not parts[-1] or ".." in parts or parts[0] == "":
        return {}
    for place in (folder.open(".."), folder):
        for directory in dict.fromkeys((inner, ".")):
            if place.open(directory).has(parts[-1]):
                return place.open(directory).peek_object(parts[-1]) or {}
    return {}
