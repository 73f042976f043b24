"""Which points of a chart have room for their caps, so that no label lies on another or on a
point."""

import math
from collections.abc import Mapping, Sequence

from reporting.charts.style import EFFICIENCY_HEIGHT, WIDTH
from reporting.report_table import ReportTable, Value
from rules.bundle_format.records import Json

_RATE, _EFFICIENCY = "items_per_s_per_accelerator", "items_per_joule"
_WIDE_PX, _HIGH_PX = 24, 11
"""Of a label."""
_POINT_PX = 4
"""Of a point, from its middle."""
_ABOVE_PX = 13
"""From a point to the middle of its label."""
_MAX_POINTS = 80
"""With more points than that no caps are written: tooltips and the table have them."""


def place_labels(table: ReportTable) -> list[Json]:
    """Labels for efficiency against throughput: the number of the table's row, from 1, and its cap.
    Peaks come first."""
    rows = [
        (n, row)
        for n, row in enumerate(table.data, start=1)
        if row[_RATE] and row[_EFFICIENCY] and row["cap_w"] is not None
    ]
    if not rows or len(rows) > _MAX_POINTS:
        return []
    points = list(
        zip(
            _to_pixels(rows, _RATE, WIDTH),
            _to_pixels(rows, _EFFICIENCY, -EFFICIENCY_HEIGHT),
            strict=True,
        )
    )
    taken: list[tuple[float, float]] = []
    found: list[Json] = []
    for (number, row), (x, y) in sorted(
        zip(rows, points, strict=True), key=lambda one: not one[0][1].get("peak")
    ):
        at = (x, y - _ABOVE_PX)
        if any(_overlap(at, other, _WIDE_PX, _HIGH_PX) for other in taken):
            continue
        if any(
            _overlap(at, other, _WIDE_PX / 2 + _POINT_PX, _HIGH_PX / 2 + _POINT_PX)
            for other in points
            if other != (x, y)
        ):
            continue
        found.append({"row": number, "label": f"{row['cap_w']:g}"})
        taken.append(at)
    return sorted(found, key=lambda label: int(label["row"]))


def _overlap(
    one: tuple[float, float], other: tuple[float, float], wide: float, high: float
) -> bool:
    return abs(one[0] - other[0]) < wide and abs(one[1] - other[1]) < high


def _to_pixels(rows: Sequence[tuple[int, Mapping[str, Value]]], key: str, size: int) -> list[float]:
    """About where the values are on a logarithmic axis of that size; a negative one counts from the
    top."""
    values = [math.log(float(row[key] or 0)) for _, row in rows]
    low, high = min(values) - 0.22, max(values) + 0.22
    return [(value - low) / (high - low) * size for value in values]
