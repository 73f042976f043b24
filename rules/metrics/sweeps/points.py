"""The points of a sweep over power caps or another setting, and its reference.

`rules/metrics/run.py` keeps the arithmetic of one run, `gains.py` beside this file that of a point
against the reference. docs/sweep-figures.md gives each formula with its source.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate, RunFigures
from rules.metrics.uncertainty.propagation import (
    Spread,
    estimate_spread_within_run,
    pool_runs,
)
from rules.metrics.uncertainty.within_run import describe_epochs


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
    node_joules_per_item: Estimate | None = None
    """Energy of the nodes per item, by their meters; None without such figures, as for
    `node_mean_power_w`."""
    node_mean_power_w: Estimate | None = None


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


def make_node_point(run: SweepRun) -> Point | None:
    """As `make_point`, with the energy of the nodes in place of that of the accelerators; None
    without it."""
    if run.node_joules_per_item is None or run.node_mean_power_w is None:
        return None
    # A meter may read 0 W, which other rules report.
    if not run.node_joules_per_item.mean > 0:
        return None
    headline = replace(
        describe_epochs(run.figures).headline,
        joules_per_item=run.node_joules_per_item,
        mean_power_w_per_accelerator=run.node_mean_power_w,
    )
    return replace(
        make_point(run),
        joules_per_item=run.node_joules_per_item.mean,
        spread=estimate_spread_within_run(headline),
    )


def is_cap_enforced(figures: RunFigures) -> bool | None:
    """Whether every accelerator of a run kept to the cap; None where that is not known of one of
    them."""
    return all_known(observed.cap_enforced for observed in figures.observed)


def combine(points: Sequence[Point]) -> list[Point]:
    """One point per cap, in order of cap: the mean of its runs. Raises MetricsError where a run has
    no cap."""
    by_cap: dict[float, list[Point]] = {}
    for point in sorted(points, key=get_cap_w):
        by_cap.setdefault(get_cap_w(point), []).append(point)
    return average_settings(list(by_cap.values()))


def get_cap_w(point: Point) -> float:
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
    at_default = next(
        (point for point in sort_by_cap(points) if point.cap_w == default_cap_w), None
    )
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


def sort_by_cap(points: Sequence[Point]) -> list[Point]:
    """The points in ascending order of cap. Raises MetricsError where two are at one cap, or a run
    has none."""
    ordered = sorted(points, key=get_cap_w)
    for below, above in pairwise(ordered):
        if below.cap_w == above.cap_w:
            raise MetricsError(
                f"the sweep has more than one run at {get_cap_w(below):g} W; combine repeats "
                "into one point per cap"
            )
    return ordered
