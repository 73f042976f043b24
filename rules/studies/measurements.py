"""The measurements of a study: each a ladder of a model on a board, and what the ladder led to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rules.bundle_format.study_records import ANCHOR, LADDER, LONG, Point


@dataclass
class Measurement:
    """The points of one model that a board measured one after another. Points are numbers of rows
    of points.csv.gz, from 0, in order of time."""

    first: Point
    steps: list[int] = field(default_factory=list)
    """The points of the ladder. An anchor needs none."""
    longs: list[int] = field(default_factory=list)
    anchors: list[int] = field(default_factory=list)
    """At most one."""

    @property
    def numbers(self) -> list[int]:
        """All points."""
        return [*self.steps, *self.longs, *self.anchors]


def list_measurements(points: Iterable[tuple[int, Point]]) -> Iterator[Measurement]:
    """The measurements of one board in one session, given its points in order of time, each with
    its number."""
    measurement: Measurement | None = None
    for number, point in points:
        if measurement is None or _begins_anew(measurement, point):
            if measurement is not None:
                yield measurement
            measurement = Measurement(point)
        by_kind = {
            LADDER: measurement.steps,
            LONG: measurement.longs,
            ANCHOR: measurement.anchors,
        }
        by_kind[point.kind].append(number)
    if measurement is not None:
        yield measurement


def _begins_anew(measurement: Measurement, point: Point) -> bool:
    if point.key != measurement.first.key or measurement.anchors:
        return True
    # A ladder comes first, and either long points or an anchor follow.
    return bool(measurement.longs) and point.kind != LONG
