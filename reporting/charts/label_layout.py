"""Selects the points of a chart whose labels overlap no other label and no point."""

import math
from collections.abc import Mapping, Sequence

from reporting.charts.style import EFFICIENCY_HEIGHT, WIDTH
from reporting.report_table import ReportTable, Value
from rules.bundle_format.records import Json

_RATE, _EFFICIENCY = "items_per_s_per_accelerator", "items_per_joule"
_WIDE_PX, _HIGH_PX = 24, 11
"""Width and height of a label."""
_POINT_PX = 4
"""Radius of a point."""
_ABOVE_PX = 13
"""Distance from a point to the middle of its label."""
_MAX_POINTS = 80
"""Charts with more points have no labels; tooltips and the table show the caps."""


def place_labels(table: ReportTable) -> list[Json]:
    """Choose the points of the efficiency chart that get a label. Each label has the number of
    its row, from 1, and the cap as text. Peaks are placed first."""
    rows = [
        (n, row)
        for n, row in enumerate(table.data, start=1)
        if row[_RATE] and row[_EFFICIENCY] and row["cap_w"] is not None
    ]
    if not rows or len(rows) > _MAX_POINTS:
        return []
    # All points count as obstacles, not only those with labels.
    points = list(
        zip(
            _to_pixels(rows, _RATE, WIDTH),
            _to_pixels(rows, _EFFICIENCY, -EFFICIENCY_HEIGHT),
            strict=True,
        )
    )
    label_places: list[tuple[float, float]] = []
    labels: list[Json] = []
    for (number, row), (x, y) in sorted(
        zip(rows, points, strict=True), key=lambda item: not item[0][1].get("peak")
    ):
        label_place = (x, y - _ABOVE_PX)
        # A label that would cover another label or a point is left out.
        if any(_overlap(label_place, neighbour, _WIDE_PX, _HIGH_PX) for neighbour in label_places):
            continue
        if any(
            _overlap(label_place, neighbour, _WIDE_PX / 2 + _POINT_PX, _HIGH_PX / 2 + _POINT_PX)
            for neighbour in points
            if neighbour != (x, y)
        ):
            continue
        labels.append({"row": number, "label": f"{row['cap_w']:g}"})
        label_places.append(label_place)
    return sorted(labels, key=lambda label: int(label["row"]))


def _overlap(
    first: tuple[float, float], second: tuple[float, float], width: float, height: float
) -> bool:
    return abs(first[0] - second[0]) < width and abs(first[1] - second[1]) < height


def _to_pixels(
    rows: Sequence[tuple[int, Mapping[str, Value]]], key: str, size_px: int
) -> list[float]:
    """Approximate positions of the values on a logarithmic axis of `size_px` pixels; a negative
    size counts from the top."""
    # Positions are estimated, because the renderer does not return them.
    values = [math.log(float(row[key] or 0)) for _, row in rows]
    # The margin of `make_log_axis`: the logarithm of 1.25.
    low, high = min(values) - 0.22, max(values) + 0.22
    return [(value - low) / (high - low) * size_px for value in values]
