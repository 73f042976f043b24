"""Samples of nvidia-smi or amd-smi as CSV, which InferenceX writes beside a result.

Source: `nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv`, and `amd-smi --csv`. Times
without a zone are UTC, as InferenceX writes them.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from checker.audit.folder import Folder, UnreadableError, take_number
from checker.audit.series import Series, integrate, make_series
from rules.audit.row import Row

TITLE = "samples of nvidia-smi or amd-smi (gpu_metrics*.csv)"
SAMPLES = re.compile(r"gpu_metrics.*\.csv")
_POWER_COLUMNS = ("power.draw [W]", "power.draw", "socket_power", "power_usage", "power")
_BOARD_COLUMNS = ("index", "gpu")
_TIME_COLUMN = "timestamp"
_TIME_FORMAT = "%Y/%m/%d %H:%M:%S.%f"
_VALIDATION = "power_validation"
"""Files of this name say to which window the samples belong."""


def find(folder: Folder) -> Iterator[str]:
    """Samples that no record beside them explains."""
    if any(name.startswith(_VALIDATION) for name in folder.names):
        return
    for name in folder.names:
        if SAMPLES.fullmatch(name) and _TIME_COLUMN in folder.read_header(name):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of samples without a window: their own span."""
    series = read_samples(folder, name)
    summed = integrate(series)
    yield Row(
        source="nvidia-smi",
        place=folder.locate(name),
        files=(name,),
        boards=len(series),
        duration_s=summed.duration_s,
        energy_j=summed.figure,
        mean_power_w=summed.mean_power_w,
        traces=summed.traces,
        missing=("window", "items", "name of the boards"),
        remarks=("the energy is that of the span of the samples",),
    )


def read_samples(folder: Folder, name: str) -> list[Series]:
    """The series of each board. Raises UnreadableError."""
    by_board: dict[str, list[tuple[float, float]]] = {}
    actual = folder.locate(name)
    header = folder.read_header(name)
    power_column = _find_column(header, _POWER_COLUMNS)
    board_column = _find_column(header, _BOARD_COLUMNS)
    if power_column is None or _TIME_COLUMN not in header:
        raise UnreadableError(actual, "has no column of power or of time; restore the header")
    for number, cells in enumerate(folder.read_rows(name), 2):
        place = f"row {number}"
        text = {"power": cells[power_column].removesuffix("W").strip()}
        board = cells[board_column] if board_column else "0"
        readings = by_board.setdefault(board, [])
        power_w = None
        if text["power"] not in ("[N/A]", "[Unknown Error]"):
            power_w = take_number(text, "power", actual, place)
        if power_w is not None:
            readings.append((_parse_time(cells[_TIME_COLUMN], actual, place), power_w))
    if not by_board or not all(by_board.values()):
        raise UnreadableError(actual, "has no samples of a board; restore the file")
    return [make_series(f"board {index}", rows, boards=1) for index, rows in by_board.items()]


def _find_column(header: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in header), None)


def _parse_time(text: str, file: str, place: str) -> float:
    """Unix s of a time of nvidia-smi, an ISO time or unix s."""
    with contextlib.suppress(ValueError):
        return datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=UTC).timestamp()
    with contextlib.suppress(ValueError, OverflowError):
        stamp = datetime.fromisoformat(text)
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    number = None
    with contextlib.suppress(UnreadableError):
        number = take_number({"time": text}, "time", file)
    if number is None:
        raise UnreadableError(
            file, f"{place} has no time such as 2026/09/08 07:20:19.279; restore it"
        )
    return number
