"""Places labels beside the points of a chart, so that they overlap neither each other nor a point.

Vega can place labels too, but Vega-Lite gives no access to that, and its static and live pictures
would differ. The places hold for a range of widths of the plot, because a chart is as wide as its
container.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_LETTER_SHARE, _NARROW_SHARE, _LINE_SHARE = 0.64, 0.35, 1.1
"""Width of a letter, of one of `_NARROW_LETTERS`, and height of a line, in shares of the size of
the font."""
_NARROW_LETTERS = " \u00b7.fijlt"
_GAPS_PX = (2.5, 4.0, 5.0)
"""Distances of a label from the edge of its point."""
_LEADER_GAPS_PX = (7.0, 12.0, 18.0, 26.0)
"""Distances of a label that a line joins to its point."""
_LEADER_END_PX = 1.5
"""Distance of the line from the edge of the point."""
_SIDES = (
    *((0, -1), (1, 0), (0, 1), (-1, 0)),
    *((1, -1), (-1, -1), (1, 1), (-1, 1)),
    *((0.5, -1), (-0.5, -1), (0.5, 1), (-0.5, 1)),
    *((1, -0.5), (1, 0.5), (-1, -0.5), (-1, 0.5)),
)
"""Above, right, below, left, then the corners, then the places between."""


_Leader = tuple[float, float, float, float]


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
    leader: _Leader | None = None
    """The line from the point to a label that is not beside it: both ends, right of and below the
    point."""


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
        # This is called millions of times for a thousand runs, so it calls little itself.
        reach_x_px = self.half_width_px + other.half_width_px
        share, offset_px = self.x_share - other.x_share, self.dx_px - other.dx_px
        distance_px = share * plot.least_width_px + offset_px
        # The distance is linear in the width, so the boxes are apart at all widths if they are
        # apart in the same order at the least and at the greatest one.
        if distance_px >= reach_x_px:
            if share * plot.greatest_width_px + offset_px >= reach_x_px:
                return False
        elif (
            distance_px <= -reach_x_px and share * plot.greatest_width_px + offset_px <= -reach_x_px
        ):
            return False
        reach_y_px = self.half_height_px + other.half_height_px
        for y_px, other_y_px in zip(self.y_px, other.y_px, strict=True):
            if -reach_y_px < y_px - other_y_px < reach_y_px:
                return True
        return False

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

    All points are obstacles. A label without a free place beside its point stands apart from it,
    and has a leader. A place on one of the `lines` is taken only if there is no other. A label
    without a free place is left out.
    """
    obstacles = [
        _Box(point.x_share, 0, point.y_px, point.radius_px, point.radius_px) for point in points
    ]
    segments = [segment for line in lines for segment in pairwise(line)]
    labels = []
    for point in points:
        if not point.label:
            continue
        free_places = (
            (box, leader)
            for box, leader in _list_places(point, plot)
            if box.is_inside(plot) and _is_free(box, leader, point, obstacles, plot)
        )
        place = _choose_place(free_places, segments, plot)
        if place is None:
            continue
        box, leader = place
        obstacles += _list_parts(box, leader, point)
        dy_px = box.y_px[0] - point.y_px[0]
        labels.append(Label(point.row, point.label, round(box.dx_px, 1), round(dy_px, 1), leader))
    return labels


def _is_free(
    box: _Box, leader: _Leader | None, point: PlotPoint, obstacles: list[_Box], plot: Plot
) -> bool:
    """Whether a label and its leader overlap none of the obstacles. Moves an obstacle that they
    overlap to the front, because the next places of the label likely overlap it too."""
    for part in _list_parts(box, leader, point):
        for index, obstacle in enumerate(obstacles):
            # A leader begins at its point.
            is_end = (
                part is not box
                and obstacle.x_share == point.x_share
                and obstacle.y_px == point.y_px
            )
            if not is_end and part.overlaps(obstacle, plot):
                obstacles.insert(0, obstacles.pop(index))
                return False
    return True


def _list_parts(box: _Box, leader: _Leader | None, point: PlotPoint) -> list[_Box]:
    """The boxes around a label and its leader."""
    if leader is None:
        return [box]
    x0, y0, x1, y1 = leader
    middle_y_px = (y0 + y1) / 2
    return [
        box,
        _Box(
            point.x_share,
            (x0 + x1) / 2,
            tuple(y_px + middle_y_px for y_px in point.y_px),
            abs(x1 - x0) / 2,
            abs(y1 - y0) / 2,
        ),
    ]


def _list_places(point: PlotPoint, plot: Plot) -> Iterator[tuple[_Box, _Leader | None]]:
    """The places around a point, the nearest first, and the leaders of those apart from it."""
    half_width_px = _estimate_width_px(point.label, plot.font_px) / 2
    half_height_px = plot.font_px * _LINE_SHARE / 2
    for gap_px in (*_GAPS_PX, *_LEADER_GAPS_PX):
        for x_side, y_side in _SIDES:
            # At a corner, the box touches the point with its own corner.
            share = 0.75 if abs(x_side) == abs(y_side) else 1
            reach_px = point.radius_px * share + gap_px
            dx_px = x_side * (reach_px + half_width_px)
            dy_px = y_side * (reach_px + half_height_px)
            box = _Box(
                point.x_share,
                dx_px,
                tuple(y_px + dy_px for y_px in point.y_px),
                half_width_px,
                half_height_px,
            )
            is_beside = gap_px in _GAPS_PX
            yield box, None if is_beside else _make_leader(box, dy_px, point.radius_px)


def _estimate_width_px(text: str, font_px: float) -> float:
    shares = (_NARROW_SHARE if letter in _NARROW_LETTERS else _LETTER_SHARE for letter in text)
    return sum(shares) * font_px


def _make_leader(box: _Box, dy_px: float, radius_px: float) -> _Leader:
    """The line from the edge of a point to the nearest place of the box of its label."""
    x = math.copysign(max(0.0, abs(box.dx_px) - box.half_width_px), box.dx_px)
    y = math.copysign(max(0.0, abs(dy_px) - box.half_height_px), dy_px)
    share = (radius_px + _LEADER_END_PX) / math.hypot(x, y)
    return round(x * share, 1), round(y * share, 1), round(x, 1), round(y, 1)


def _choose_place(
    places: Iterator[tuple[_Box, _Leader | None]],
    segments: Sequence[tuple[PlotPoint, PlotPoint]],
    plot: Plot,
) -> tuple[_Box, _Leader | None] | None:
    """The first place that no line crosses, else the first place."""
    first = None
    for box, leader in places:
        if not any(_crosses(box, segment, plot) for segment in segments):
            return box, leader
        first = first or (box, leader)
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
