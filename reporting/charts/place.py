"""Which points of a chart have room for their caps, so that no label lies on another."""

import math
from collections.abc import Mapping, Sequence

from reporting.charts.looks import HEIGHT, WIDTH
from reporting.tables import Table, Value
from rules.records import Json

_RATE, _EFFICIENCY = "items_per_s_per_accelerator", "items_per_joule"
_WIDE_PX, _HIGH_PX = 24, 11
"""Of a label."""
_MOST = 80
"""With more points than that no caps are written: tooltips and the table have them."""


def labels(table: Table) -> list[Json]:
    """Labels for efficiency against throughput: the number of the table's row, from 1, and its cap."""
    rows = [(n, row) for n, row in enumerate(table.data, start=1) if row[_RATE] and row[_EFFICIENCY] and row["cap_w"] is not None]
    if not rows or len(rows) > _MOST:
        return []
    taken: list[tuple[float, float]] = []
    found: list[Json] = []
    for (number, row), x, y in zip(rows, _pixels(rows, _RATE, WIDTH), _pixels(rows, _EFFICIENCY, HEIGHT), strict=True):
        if not any(abs(x - left) < _WIDE_PX and abs(y - up) < _HIGH_PX for left, up in taken):
            found.append({"row": number, "label": f"{row['cap_w']:g}"})
            taken.append((x, y))
    return found


def _pixels(rows: Sequence[tuple[int, Mapping[str, Value]]], key: str, size: int) -> list[float]:
    """About where the values are on a logarithmic axis of that size."""
    values = [math.log(float(row[key] or 0)) for _, row in rows]
    low, high = min(values) - 0.22, max(values) + 0.22
    return [(value - low) / (high - low) * size for value in values]
