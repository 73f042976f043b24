"""The most efficient point of each line, and the Pareto front of throughput and efficiency."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EfficiencyPoint:
    """A result in the chart of efficiency against throughput."""

    line: str
    """The configuration that all caps of one line share."""
    standing: str
    is_comparable: bool
    """Whether the cap is known to have held and the figure is plausible."""
    may_win: bool
    """Whether the point may be compared with points of other lines."""
    cap_w: float | None
    items_per_s: float
    """Per accelerator."""
    items_per_joule: float | None


@dataclass(frozen=True)
class EfficiencyMarks:
    """How a point is drawn."""

    is_peak: bool
    """The most efficient point of a line with two caps or more."""
    is_on_front: bool
    """No other point has both higher throughput and higher efficiency."""


def mark_points(points: Sequence[EfficiencyPoint]) -> list[EfficiencyMarks]:
    """The marks of each point, in the order of `points`.

    Each standing has a front of its own: open runs depart from the rules of closed ones, and the
    power of published points is assumed. A point that is not comparable gets no mark and takes none
    from others.
    """
    candidates = [
        number
        for number, point in enumerate(points)
        if point.is_comparable and point.items_per_joule
    ]
    peaks = _find_peaks(points, candidates)
    front = {
        number
        for standing in {point.standing for point in points}
        for number in _find_front(
            points,
            [n for n in candidates if points[n].may_win and points[n].standing == standing],
        )
    }
    return [EfficiencyMarks(number in peaks, number in front) for number in range(len(points))]


def _find_peaks(points: Sequence[EfficiencyPoint], candidates: Sequence[int]) -> set[int]:
    """The numbers of the points that are the peak of their line."""
    lines: dict[tuple[str, str], list[int]] = {}
    for number in candidates:
        # Closed and open results of one configuration are separate lines.
        lines.setdefault((points[number].standing, points[number].line), []).append(number)
    return {
        max(numbers, key=lambda number: points[number].items_per_joule or 0)
        for numbers in lines.values()
        # A line with one cap has no peak.
        if len({points[number].cap_w for number in numbers}) > 1
    }


def _find_front(points: Sequence[EfficiencyPoint], candidates: Sequence[int]) -> set[int]:
    """The numbers of the points on the Pareto front of `candidates`."""

    def sort_key(number: int) -> tuple[float, float]:
        return points[number].items_per_s, points[number].items_per_joule or 0

    front = set()
    best = 0.0
    # From the highest throughput down, a point is on the front if it is more efficient than all
    # points before it.
    for number in sorted(candidates, key=sort_key, reverse=True):
        efficiency = points[number].items_per_joule or 0
        if efficiency > best:
            front.add(number)
            best = efficiency
    return front
