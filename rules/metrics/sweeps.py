"""Arithmetic over several runs: the points of a sweep over power caps, its reference, its
efficiency peak, and scaling.

`rules/metrics/run.py` keeps the arithmetic of one run, `rules/metrics/gains.py` that of a point
against the reference. docs/sweep-figures.md gives each formula with its source.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate, RunFigures
from rules.metrics.uncertainty import (
    Interval,
    Spread,
    estimate_ratio_of_points,
    estimate_spread_within_run,
    find_ratio_interval,
    make_estimate,
    pool_runs,
)
from rules.metrics.within_run import describe_epochs


@dataclass(frozen=True)
class Point:
    """One run at one setting. The points of a sweep have all other settings in common.

    Raises MetricsError where a figure is not finite and above zero.
    """

    cap_w: float | None
    """Per accelerator; None where the meter knows of none."""
    items_per_s: float
    """In total, over all accelerators."""
    joules_per_item: float
    enforced: bool | None
    """Whether the mean power kept to the cap; None where that is not known."""
    plausible: bool = True
    """False where the throughput exceeds what the board can do."""
    n: int = 1
    """How many runs it is the mean of."""
    spread: Spread | None = None
    """How certain its energy and time are; None where that is not known."""

    def __post_init__(self) -> None:
        for name in ("cap_w", "items_per_s", "joules_per_item"):
            value = getattr(self, name)
            # The comparisons divide by these. This form also refuses NaN.
            if value is not None and not 0 < value < math.inf:
                cap = "without a cap" if self.cap_w is None else f"at cap {self.cap_w:g} W"
                raise MetricsError(
                    f"{name} of a run {cap} is {value:g}; it must be finite and above zero"
                )

    @property
    def items_per_joule(self) -> float:
        return 1 / self.joules_per_item

    @property
    def comparable(self) -> bool:
        """Whether the run may be an efficiency peak: its cap is known to have held, and its
        throughput is possible."""
        return self.enforced is True and self.plausible


@dataclass(frozen=True)
class SweepRun:
    """What a comparison with other runs needs of one run."""

    run_id: str
    cap_w: float | None
    """The declared cap per accelerator; None where the meter knows of none."""
    default_caps_w: frozenset[float | None]
    """The default caps that its boards stated, None among them where one stated none."""
    max_peak_share: float
    """The share of the dense peak up to which its protocol takes a throughput to be possible."""
    figures: RunFigures


def make_point(run: SweepRun) -> Point:
    """The point of a run. Raises MetricsError where it has no energy per item."""
    headline = run.figures.headline
    if headline.joules_per_item is None:
        raise MetricsError(f"the run {run.run_id} has no energy, so it is no point of a sweep")
    return Point(
        cap_w=run.cap_w,
        items_per_s=headline.items_per_s.mean,
        joules_per_item=headline.joules_per_item.mean,
        enforced=is_cap_enforced(run.figures),
        # Without a known peak nothing speaks against the throughput.
        plausible=headline.mfu is None or headline.mfu.mean <= run.max_peak_share,
        spread=estimate_spread_within_run(describe_epochs(run.figures).headline),
    )


def is_cap_enforced(figures: RunFigures) -> bool | None:
    """Whether every accelerator of a run kept to the cap; None where that is not known of one of
    them."""
    return all_known(observed.cap_enforced for observed in figures.observed)


def combine(points: Sequence[Point]) -> list[Point]:
    """One point per cap, in order of cap: the mean of its runs. Raises MetricsError where a run has
    no cap."""
    by_cap: dict[float, list[Point]] = {}
    for point in sorted(points, key=_cap_w):
        by_cap.setdefault(_cap_w(point), []).append(point)
    return average_settings(list(by_cap.values()))


def _cap_w(point: Point) -> float:
    """The cap of a point of a sweep over caps. Raises MetricsError where it has none."""
    if point.cap_w is None:
        raise MetricsError("a run has no cap, so it is no point of a sweep over caps")
    return point.cap_w


def average_settings(settings: Sequence[Sequence[Point]]) -> list[Point]:
    """One point per setting of a sweep, in the same order: the mean of its runs. Its spread is that
    between repeated runs where the sweep has any, else that within its single run."""
    spreads = pool_runs([[(p.joules_per_item, p.items_per_s) for p in runs] for runs in settings])
    return [
        _average(runs, spreads[place] if spreads else runs[0].spread)
        for place, runs in enumerate(settings)
    ]


def average(runs: Sequence[Point]) -> Point:
    """The mean of repeated runs at one setting, with the spread between them alone."""
    return average_settings([runs])[0]


def _average(runs: Sequence[Point], spread: Spread | None) -> Point:
    """The mean of repeated runs. It is enforced, and plausible, where every run of it is."""
    return Point(
        cap_w=runs[0].cap_w,
        items_per_s=fmean(p.items_per_s for p in runs),
        joules_per_item=fmean(p.joules_per_item for p in runs),
        enforced=all_known(p.enforced for p in runs),
        plausible=all(p.plausible for p in runs),
        n=len(runs),
        spread=spread,
    )


def all_known(values: Iterable[bool | None]) -> bool | None:
    """Whether all values are true: False where one is, else None where one is not known."""
    distinct = set(values)
    # One violation decides, whatever is unknown of the others.
    return False if False in distinct else None if None in distinct else True


def common_default_cap_w(stated_w: Iterable[float | None]) -> float:
    """The default cap that all boards of a sweep stated. Raises MetricsError where they stated none
    or several, or one of them did not state it."""
    caps_w = set(stated_w)
    cap_w = caps_w.pop() if len(caps_w) == 1 else None
    if cap_w is None:
        raise MetricsError("the boards do not name one default cap")
    return cap_w


def find_reference(points: Sequence[Point], default_cap_w: float) -> Point:
    """The point at the board's default cap.

    Raises MetricsError if the sweep has no such point, two points at one cap, or a point at the
    default cap that is not comparable.
    """
    at_default = next((point for point in _by_cap(points) if point.cap_w == default_cap_w), None)
    if at_default is None:
        raise MetricsError(
            f"there is no run at the default cap of {default_cap_w:g} W to compare with; "
            "run that cap too"
        )
    # Against a wrong reference every saving of the sweep would be wrong.
    if not at_default.comparable:
        raise MetricsError(
            f"nothing is compared with the run at the default cap of {default_cap_w:g} W: "
            "its cap is not known to have held, or "
            "its throughput cannot be"
        )
    return at_default


@dataclass(frozen=True)
class Peak:
    """The highest efficiency of a sweep."""

    method: Literal["measured", "quadratic"]
    """The best of the runs, or the vertex of a parabola through it and the runs at the caps beside
    it."""
    cap_w: float
    items_per_joule: Estimate
    edge: Literal["lowest", "highest", "only"] | None = None
    """The edge of the comparable caps that the peak lies at: the true peak may lie beyond it. None
    for a peak between two caps."""
    cap_ci95_w: Interval | None = None
    """Of the vertex of a parabola; None for a measured peak, and where the runs do not determine
    it."""

    @property
    def beyond(self) -> str | None:
        """A caution for a peak at an edge of the sweep; None for one between two caps."""
        where = {"lowest": "below", "highest": "above"}.get(self.edge or "")
        return f"the edge of the sweep: the peak may lie {where}" if where else None


def find_measured_peak(points: Sequence[Point]) -> Peak:
    """The run with the most items per joule among the comparable ones, at the lower cap where two
    are equal.

    Raises MetricsError where no run is comparable, or two are at one cap.
    """
    comparable = [p for p in _by_cap(points) if p.comparable]
    if not comparable:
        raise MetricsError(
            f"the sweep has no efficiency peak: none of its {len(points)} runs has a cap "
            "known to have held and a throughput "
            "that is possible"
        )
    # `max` keeps the first of equals, which is the lower cap.
    best = max(comparable, key=lambda p: p.items_per_joule)
    return Peak(
        "measured", _cap_w(best), _estimate_efficiency([best], [1.0]), _edge(best, comparable)
    )


def _edge(best: Point, comparable: Sequence[Point]) -> Literal["lowest", "highest", "only"] | None:
    """At which edge of the comparable points, which are by cap, the best one is."""
    if len(comparable) == 1:
        return "only"
    return "lowest" if best is comparable[0] else "highest" if best is comparable[-1] else None


def fit_quadratic_peak(points: Sequence[Point]) -> Peak | None:
    """The vertex of items/J as a quadratic in the cap, through the measured peak and the runs at
    the caps beside it.

    None where the measured peak is at an edge of the sweep, or a run beside it is not comparable.
    Raises MetricsError as `find_measured_peak` does.
    """
    ordered = _by_cap(points)
    best = [p.cap_w for p in ordered].index(find_measured_peak(points).cap_w)
    # `max`: a negative start would count from the end.
    around = ordered[max(best - 1, 0) : best + 2]
    if len(around) < 3 or not all(p.comparable for p in around):
        return None
    (x0, y0), (x1, y1), (x2, y2) = ((_cap_w(p), p.items_per_joule) for p in around)
    # The slopes between the runs are weighted sums of their efficiencies.
    slope_weights = (-1 / (x1 - x0), 1 / (x1 - x0), 0.0), (0.0, -1 / (x2 - x1), 1 / (x2 - x1))
    rise, fall = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    # Of equals the lower cap is the measured peak, so rise > 0 >= fall: the parabola opens
    # downwards. Its slope is `rise` in the middle of the lower two caps, and `fall` in that of the
    # upper two.
    middle, distance = (x0 + x1) / 2, (x2 - x0) / 2
    shift = rise / (rise - fall) * distance
    cap_w = middle + shift
    drop_weights = [low - high for low, high in zip(*slope_weights, strict=True)]
    interval = _find_vertex_interval(around, (rise, rise - fall), (slope_weights[0], drop_weights))
    # The weights of Lagrange's interpolation. At the vertex an error of its place changes nothing.
    weights = (
        (cap_w - x1) * (cap_w - x2) / ((x0 - x1) * (x0 - x2)),
        (cap_w - x0) * (cap_w - x2) / ((x1 - x0) * (x1 - x2)),
        (cap_w - x0) * (cap_w - x1) / ((x2 - x0) * (x2 - x1)),
    )
    return Peak(
        "quadratic",
        cap_w,
        _estimate_efficiency(around, weights),
        cap_ci95_w=interval and (middle + distance * interval[0], middle + distance * interval[1]),
    )


def _find_vertex_interval(
    points: Sequence[Point],
    slopes: tuple[float, float],
    weights: tuple[Sequence[float], Sequence[float]],
) -> Interval | None:
    """The interval of a ratio of two weighted sums of the efficiencies of independent points."""
    spreads = [point.spread for point in points if point.spread]
    if len(spreads) < len(points):
        return None
    variances = [_get_efficiency_variance(point) for point in points]
    (upper, lower) = weights
    return find_ratio_interval(
        *slopes,
        (
            math.fsum(w**2 * v for w, v in zip(upper, variances, strict=True)),
            math.fsum(w**2 * v for w, v in zip(lower, variances, strict=True)),
        ),
        math.fsum(a * b * v for a, b, v in zip(upper, lower, variances, strict=True)),
        min(spread.degrees for spread in spreads),
    )


def _estimate_efficiency(points: Sequence[Point], weights: Sequence[float]) -> Estimate:
    """A weighted sum of the items/J of independent points."""
    value = math.fsum(w * p.items_per_joule for w, p in zip(weights, points, strict=True))
    variances = [_get_efficiency_variance(point) for point in points]
    variance = math.fsum(w**2 * v for w, v in zip(weights, variances, strict=True))
    return make_estimate(value, variance, [point.spread for point in points])


def _get_efficiency_variance(point: Point) -> float:
    """The variance of the mean items/J; 0 where it is not known."""
    return point.spread.energy_variance * point.items_per_joule**2 if point.spread else 0.0


@dataclass(frozen=True)
class Scaling:
    """A run on several accelerators against the run on one. Perfect scaling has an efficiency of
    100 % and an energy ratio of 1."""

    accelerators: int
    speed_up: Estimate
    efficiency_percent: Estimate
    """Speed-up per accelerator."""
    energy_per_item_ratio: Estimate
    """J per item as a multiple of that on one accelerator."""


def compute_scaling(several: Point, accelerators: int, single: Point) -> Scaling:
    """A run on several accelerators against the run on one. Raises MetricsError if their caps
    differ."""
    if accelerators < 1:
        raise MetricsError(
            f"a run on {accelerators} accelerators cannot be; there must be at least one"
        )
    # At another cap the change of throughput would mix scaling with the effect of the cap.
    if several.cap_w != single.cap_w:
        raise MetricsError(
            f"the run on {accelerators} accelerators is at {_cap_w(several):g} W and that on "
            f"one at {_cap_w(single):g} W; "
            "scaling needs runs at the same cap"
        )
    spreads = several.spread, single.spread
    return Scaling(
        accelerators=accelerators,
        speed_up=estimate_ratio_of_points(
            several.items_per_s / single.items_per_s, spreads, energy=0, time=1
        ),
        efficiency_percent=estimate_ratio_of_points(
            100 * (several.items_per_s / single.items_per_s) / accelerators,
            spreads,
            energy=0,
            time=1,
        ),
        energy_per_item_ratio=estimate_ratio_of_points(
            several.joules_per_item / single.joules_per_item, spreads, energy=1, time=0
        ),
    )


def _by_cap(points: Sequence[Point]) -> list[Point]:
    ordered = sorted(points, key=_cap_w)
    for below, above in pairwise(ordered):
        if below.cap_w == above.cap_w:
            raise MetricsError(
                f"the sweep has more than one run at {_cap_w(below):g} W; combine repeats "
                "into one point per cap"
            )
    return ordered
