"""Runs that differ in their cap only, side by side: what each cap saves and costs against the default cap."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.rows import Row, line_name
from rules import metrics
from rules.checks.clocks_not_default import RULE as CLOCKS_NOT_DEFAULT
from rules.digest import kind
from rules.metrics import MetricsError
from rules.records import Json
from rules.sweeps import Comparison, Peak, Point, combine, compare, default_cap_w, measured_peak, quadratic_peak, reference


@dataclass(frozen=True)
class AtCap:
    """What the runs at one cap of a sweep gave; several are combined (`rules.sweeps.combine`)."""

    point: Point
    rows: tuple[Row, ...]
    observed_w: float
    """Mean power per accelerator."""
    against: Comparison | None
    """Against the default cap; None where there is nothing to compare with."""
    doubt: str | None
    """Why the cap is not taken to have held, or the figures to be possible; None where they are."""
    best: bool
    """Whether it is the most efficient of those that count."""

    @property
    def limits_w(self) -> tuple[float, ...]:
        """The limits in force that were read back, each once."""
        return tuple(sorted({w for row in self.rows for w in row.limits_w}))


@dataclass(frozen=True)
class Sweep:
    """Runs of one kind (`rules.digest.kind`) at two caps or more, by cap."""

    name: str
    """Of its line in the chart and its part of the table; no other sweep of the page's section has it."""
    model: str
    caps: tuple[AtCap, ...]
    default_cap_w: float | None
    not_compared: str | None
    """Why nothing is compared with the default cap, or None."""
    peak: Peak | None
    quadratic: Peak | None

    @property
    def repeated(self) -> bool:
        """Whether there are several runs at a cap."""
        return any(at.point.n > 1 for at in self.caps)


def sweeps(rows: Sequence[Row]) -> list[Sweep]:
    """The sweeps among submitted rows, or among demo rows, by name."""
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.trail is not None and row.observed_w and point_of(row):
            clocks_set = any(f.rule == CLOCKS_NOT_DEFAULT.id for f in row.trail.findings)
            alike.setdefault((*kind(row.trail.bundle), clocks_set), []).append(row)
    groups = [own for own in alike.values() if len({row.cap_w for row in own}) > 1]
    names = _names(groups)
    return sorted(map(_sweep, groups, names), key=lambda sweep: sweep.name)


def point_of(row: Row) -> Point | None:
    """The point of a row; None where it has no cap, no throughput or no energy."""
    if row.cap_w is None or row.items_per_s is None or row.joules_per_item is None:
        return None
    return Point(row.cap_w, row.items_per_s.value, row.joules_per_item.value, row.cap_enforced, row.implausible is None)


def _sweep(rows: Sequence[Row], name: str) -> Sweep:
    points = combine([found for row in rows if (found := point_of(row))])
    default_w, against, not_compared = _reference(points, [row.trail.bundle.result for row in rows if row.trail])
    peak, quadratic = _peaks(points)
    caps = []
    for point in points:
        own = tuple(row for row in rows if row.cap_w == point.cap_w)
        caps.append(
            AtCap(
                point=point,
                rows=own,
                observed_w=metrics.summary([row.observed_w.value for row in own if row.observed_w])["mean"],
                against=compare(point, against) if against else None,
                doubt=next((doubt for row in own if (doubt := row.doubt or row.implausible)), None),
                best=peak is not None and peak.edge != "only" and point.cap_w == peak.cap_w,
            )
        )
    return Sweep(name, rows[0].model, tuple(caps), default_w, not_compared, peak, quadratic)


def _peaks(points: Sequence[Point]) -> tuple[Peak | None, Peak | None]:
    try:
        return measured_peak(points), quadratic_peak(points)
    except MetricsError:  # no run may be one
        return None, None


def _reference(points: Sequence[Point], results: Sequence[Json]) -> tuple[float | None, Point | None, str | None]:
    """The default cap, and the point at it or why there is none to compare with."""
    try:
        default_w = default_cap_w(results)
    except MetricsError as error:
        return None, None, str(error)
    try:
        return default_w, reference(points, default_w), None
    except MetricsError as error:
        return default_w, None, str(error)


def _names(groups: Sequence[Sequence[Row]]) -> list[str]:
    """A name for each group, as short as tells them apart: the line's, then with the batch, then with a number."""
    names = [line_name(own[0]) for own in groups]
    for longer in (lambda row, _: f" · batch {row.batch_size}", lambda _, n: f" ({n})"):
        often = Counter(names)
        names = [
            name + longer(own[0], n) if often[name] > 1 else name
            for n, (name, own) in enumerate(zip(names, groups, strict=True), start=1)
        ]
    return names
