"""The advice on a sweep over caps: the best cap by each metric, within an allowed loss, and of a
rack."""

from dataclasses import dataclass

from reporting.advice.subject import Basis, Subject
from rules.metrics.sweeps.allowed_loss import (
    AllowedPoint,
    estimate_loss_percent,
    find_least_energy_within,
)
from rules.metrics.sweeps.best_settings import BestSetting, find_best_settings
from rules.metrics.sweeps.filled_racks import BestRack, FilledRack, fill_rack, find_best_rack
from rules.metrics.sweeps.gains import EDS_K
from rules.metrics.sweeps.peaks import Peak, fit_quadratic_peak
from rules.metrics.sweeps.points import Point, get_cap_w

DECIDING_METRIC = "gain minus extra time"
"""What decides without an allowed loss and without a rack: it weighs a percent of energy as much as
a percent of time."""


@dataclass(frozen=True)
class Wishes:
    """What the reader asks for."""

    allowed_loss_percent: float | None
    """Of throughput, against the reference."""
    rack_w: float | None
    """The limit of a rack; None without one."""
    redundancy_percent: float
    """The share of the rack limit that is kept free."""
    basis: Basis
    price_per_kwh: float
    """In EUR."""


@dataclass(frozen=True)
class Racks:
    """A rack at each cap of a sweep."""

    racks: tuple[FilledRack, ...]
    best: BestRack | None
    """None if no node fits at any cap that is allowed."""
    at_reference: FilledRack | None


@dataclass(frozen=True)
class Chosen:
    """The cap that the advice is for."""

    point: Point
    reason: str
    ties: tuple[Point, ...] | None
    """The points that cannot be told from it, without itself; None where that is not known."""

    @property
    def cap_w(self) -> float:
        return get_cap_w(self.point)


@dataclass(frozen=True)
class Advice:
    """The advice on one sweep."""

    subject: Subject
    wishes: Wishes
    best_settings: tuple[BestSetting, ...]
    """Empty without a reference."""
    interpolated: Peak | None
    """The vertex of a parabola through the most efficient cap and its neighbours."""
    allowed: AllowedPoint | None
    """None without an allowed loss, and without a cap within it."""
    racks: Racks | None
    """None without a rack limit, and where racks cannot be planned."""
    chosen: Chosen | None


def advise(subject: Subject, wishes: Wishes) -> Advice:
    """The advice on a sweep."""
    points, reference = subject.points, subject.reference
    best_settings = tuple(find_best_settings(points, reference, EDS_K)) if reference else ()
    allowed = (
        find_least_energy_within(points, reference, wishes.allowed_loss_percent)
        if reference and wishes.allowed_loss_percent is not None
        else None
    )
    racks = _fill_racks(subject, wishes)
    return Advice(
        subject=subject,
        wishes=wishes,
        best_settings=best_settings,
        interpolated=fit_quadratic_peak(points) if points else None,
        allowed=allowed,
        racks=racks,
        chosen=_choose(wishes, best_settings, allowed, racks),
    )


def _fill_racks(subject: Subject, wishes: Wishes) -> Racks | None:
    if wishes.rack_w is None or not subject.nodes:
        return None
    reference = subject.reference
    racks = tuple(
        fill_rack(wishes.rack_w, wishes.redundancy_percent, node) for node in subject.nodes
    )
    # A rack of slow nodes may do most work, and each of its jobs then takes too long.
    allowed = [
        rack
        for rack, point in zip(racks, subject.points, strict=True)
        if wishes.allowed_loss_percent is None
        or (
            reference is not None
            and estimate_loss_percent(point, reference).mean <= wishes.allowed_loss_percent
        )
    ]
    at_reference = (
        next((r for r in racks if r.node.point.cap_w == reference.cap_w), None)
        if reference
        else None
    )
    return Racks(racks, find_best_rack(allowed), at_reference)


def _choose(
    wishes: Wishes,
    best_settings: tuple[BestSetting, ...],
    allowed: AllowedPoint | None,
    racks: Racks | None,
) -> Chosen | None:
    """The cap of the rack of most throughput if there is a rack limit, else that of least energy
    within the allowed loss, else that of the best sum of energy and time."""
    within = (
        ""
        if wishes.allowed_loss_percent is None
        else f" with at most {wishes.allowed_loss_percent:g} % less throughput"
    )
    if racks and racks.best:
        best = racks.best
        ties = _leave_out(
            best.rack.node.point,
            None if best.not_told_apart is None else [r.node.point for r in best.not_told_apart],
        )
        return Chosen(best.rack.node.point, f"most throughput of the rack{within}", ties)
    if wishes.allowed_loss_percent is not None:
        if allowed is None:
            return None
        (least,) = [best for best in best_settings if best.metric.name == "energy"]
        is_least = least.point == allowed.point
        ties = _leave_out(allowed.point, least.not_told_apart) if is_least else ()
        return Chosen(allowed.point, f"least energy{within}", ties)
    for setting in best_settings:
        if setting.metric.name == DECIDING_METRIC:
            ties = _leave_out(setting.point, setting.not_told_apart)
            return Chosen(setting.point, "best gain minus extra time", ties)
    return None


def _leave_out(
    point: Point, points: list[Point] | tuple[Point, ...] | None
) -> tuple[Point, ...] | None:
    return None if points is None else tuple(p for p in points if p != point)
