"""Places labels beside the points of a chart, so that they overlap neither each other nor a point.

Vega can place labels too, but Vega-Lite gives no access to that, and its static and live pictures
would differ. The places hold for a range of widths of the plot, because a chart is as wide as its
container.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_LETTER_SHARE, _LINE_SHARE = 0.62, 1.1
"""Width of a letter and height of a line, in shares of the size of the font."""
_GAP_PX = 2.5
_RINGS = (1.0, 1.35, 1.7)
"""Distances of a label from its point, in shares of the least one."""
_SIDES = (
    *((0, -1), (1, 0), (0, 1), (-1, 0)),
    *((1, -1), (-1, -1), (1, 1), (-1, 1)),
    *((0.5, -1), (-0.5, -1), (0.5, 1), (-0.5, 1)),
    *((1, -0.5), (1, 0.5), (-1, -0.5), (-1, 0.5)),
)
"""Above, right, below, left, then the corners, then the places between."""


@dataclass(frozen=True)
class PlotPoint:
    """A point of a chart."""

    row: int
    """The number of its row in the table, from 0."""
    x_share: float
    """Distance from the left end of the plot, as a share of its width."""
    y_px: tuple[float, ...]
    """Distance from the upper end of the plot, for each state of the chart."""
    radius_px: float
    label: str = ""
    """Empty if the point gets no label."""


@dataclass(frozen=True)
class Label:
    """A label beside a point."""

    row: int
    text: str
    dx_px: float
    """From the point to the middle of the label."""
    dy_px: float


@dataclass(frozen=True)
class Plot:
    """The area of the points, for a range of widths."""

    least_width_px: float
    greatest_width_px: float
    height_px: float
    font_px: float


@dataclass(frozen=True)
class _Box:
    """The box around a label or a point, at any width of the plot."""

    x_share: float
    dx_px: float
    y_px: tuple[float, ...]
    half_width_px: float
    half_height_px: float

    def overlaps(self, other: "_Box", plot: Plot) -> bool:
        """Whether the boxes overlap at some width in some state of the chart."""
        least_width_px = self.half_width_px + other.half_width_px
        # The distance is linear in the width, so the boxes are apart at all widths if they are
        # apart in the same order at the least and at the greatest one.
        left, right = (
            (self.x_share - other.x_share) * width_px + self.dx_px - other.dx_px
            for width_px in (plot.least_width_px, plot.greatest_width_px)
        )
        if min(left, right) >= least_width_px or max(left, right) <= -least_width_px:
            return False
        least_height_px = self.half_height_px + other.half_height_px
        return any(
            abs(y_px - other_y_px) < least_height_px
            for y_px, other_y_px in zip(self.y_px, other.y_px, strict=True)
        )

    def is_inside(self, plot: Plot) -> bool:
        ends = [
            self.x_share * width_px + self.dx_px
            for width_px in (plot.least_width_px, plot.greatest_width_px)
        ]
        return (
            min(ends) >= self.half_width_px
            and self.x_share * plot.greatest_width_px + self.dx_px + self.half_width_px
            <= plot.greatest_width_px
            and self.x_share * plot.least_width_px + self.dx_px + self.half_width_px
            <= plot.least_width_px
            and min(self.y_px) >= self.half_height_px
            and max(self.y_px) + self.half_height_px <= plot.height_px
        )


def place_labels(
    points: Sequence[PlotPoint], lines: Sequence[Sequence[PlotPoint]], plot: Plot
) -> list[Label]:
    """Place the labels of points, in the order of `points`: the first ones get the best places.

    All points are obstacles. A place on one of the `lines` is taken only if there is no other. A
    label without a free place is left out.
    """
    obstacles = [
        (point, _Box(point.x_share, 0, point.y_px, point.radius_px, point.radius_px))
        for point in points
    ]
    segments = [segment for line in lines for segment in pairwise(line)]
    placed: list[_Box] = []
    labels = []
    for point in points:
        if not point.label:
            continue
        free_boxes = (
            box
            for box in _list_boxes(point, plot)
            if box.is_inside(plot)
            and not any(box.overlaps(label, plot) for label in placed)
            and not any(box.overlaps(mark, plot) for _, mark in obstacles)
        )
        box = _choose_box(free_boxes, segments, plot)
        if box is None:
            continue
        placed.append(box)
        dy_px = box.y_px[0] - point.y_px[0]
        labels.append(Label(point.row, point.label, round(box.dx_px, 1), round(dy_px, 1)))
    return labels


def _list_boxes(point: PlotPoint, plot: Plot) -> Iterator[_Box]:
    """The places around a point, the nearest first."""
    half_width_px = len(point.label) * plot.font_px * _LETTER_SHARE / 2
    half_height_px = plot.font_px * _LINE_SHARE / 2
    for ring in _RINGS:
        for x_side, y_side in _SIDES:
            # At a corner, the box touches the point with its own corner.
            share = 0.75 if abs(x_side) == abs(y_side) else 1
            reach_px = (point.radius_px * share + _GAP_PX) * ring
            dy_px = y_side * (reach_px + half_height_px)
            yield _Box(
                point.x_share,
                x_side * (reach_px + half_width_px),
                tuple(y_px + dy_px for y_px in point.y_px),
                half_width_px,
                half_height_px,
            )


def _choose_box(
    boxes: Iterator[_Box], segments: Sequence[tuple[PlotPoint, PlotPoint]], plot: Plot
) -> _Box | None:
    """The first box that no line crosses, else the first box."""
    first = None
    for box in boxes:
        if not any(_crosses(box, segment, plot) for segment in segments):
            return box
        first = first or box
    return first


def _crosses(box: _Box, segment: tuple[PlotPoint, PlotPoint], plot: Plot) -> bool:
    """Whether a line crosses the box at the mean width, in the first state of the chart."""
    width_px = (plot.least_width_px + plot.greatest_width_px) / 2
    box_x, box_y = box.x_share * width_px + box.dx_px, box.y_px[0]
    (x0, y0), (x1, y1) = ((end.x_share * width_px, end.y_px[0]) for end in segment)
    # The part of the segment between the sides of the box, from 0 to 1 along it.
    begin, end = 0.0, 1.0
    for start, way, middle, half in (
        (x0, x1 - x0, box_x, box.half_width_px),
        (y0, y1 - y0, box_y, box.half_height_px),
    ):
        if way == 0:
            if abs(start - middle) > half:
                return False
            continue
        near, far = sorted(((middle - half - start) / way, (middle + half - start) / way))
        begin, end = max(begin, near), min(end, far)
    return begin < end
