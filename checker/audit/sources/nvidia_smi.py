"""Samples of nvidia-smi as CSV, which InferenceX writes beside a result.

Source: `nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv`. The times have no zone:
InferenceX writes UTC.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from checker.audit.folder import Folder, UnreadableError, require_number
from checker.audit.series import Series, integrate, make_series
from rules.audit.row import Row

TITLE = "samples of nvidia-smi (gpu_metrics*.csv)"
SAMPLES = re.compile(r"gpu_metrics.*\.csv")
_POWER_COLUMN = "power.draw [W]"
_VALIDATION = "power_validation"
"""Files of this name say to which window the samples belong."""


def find(folder: Folder) -> Iterator[str]:
    """Samples that no record beside them explains."""
    if any(name.startswith(_VALIDATION) for name in folder.names):
        return
    for name in folder.names:
        if SAMPLES.fullmatch(name) and _POWER_COLUMN in folder.read_header(name):
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
    """The series of nvidia-smi's CSV by board. Its times have no zone: they are UTC."""
    by_board: dict[str, list[tuple[float, float]]] = {}
    actual = folder.locate(name)
    for number, cells in enumerate(folder.read_rows(name), 2):
        place = f"row {number}"
        text = {"power": cells[_POWER_COLUMN].removesuffix("W").strip()}
        power_w = require_number(text, "power", actual, place)
        try:
            stamp = datetime.strptime(cells["timestamp"], "%Y/%m/%d %H:%M:%S.%f")
        except (KeyError, ValueError):
            raise UnreadableError(
                actual, f"{place} has no time such as 2026/09/08 07:20:19.279; restore it"
            ) from None
        time_s = stamp.replace(tzinfo=UTC).timestamp()
        by_board.setdefault(cells.get("index", "0"), []).append((time_s, power_w))
    if not by_board:
        raise UnreadableError(actual, "has no samples; restore the file")
    return [make_series(f"board {index}", rows, boards=1) for index, rows in by_board.items()]
