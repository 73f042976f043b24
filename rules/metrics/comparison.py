"""Comparing results with each other, and what a result would cost at another site.

The page of the report computes the same in the browser when its reader changes an assumption; a
test holds the two together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rules.metrics.figures import Estimate, Headline
from rules.metrics.uncertainty.between_runs import RunSpread
from rules.metrics.uncertainty.repeats import Component

JOULES_PER_KWH = 3.6e6
SECONDS_PER_DAY = 86_400
DAYS_PER_YEAR = 365

BOARD_SPREAD_PERCENT = 4.6
"""Largest usual difference of two H200 boards under one cap with one program, in items/s and J per
item: the runs committed up to November 2026 differ by less (docs/performance.md). Reproductions are
judged by it."""

RULE_BOOK_KIND = "H200"
RULE_BOOK_SPREAD = RunSpread(boards=Component(1.5, 14), runs=None)
"""The spread of repeats on H200 boards, in items/s and J per item. A report derives the spread from
its own repeats and takes this one where it has too few."""

Difference = Literal["higher", "lower", "within board spread", "intervals overlap", "no interval"]

Interval = Sequence[float] | None


def relative_percent(value: float, baseline: float) -> float:
    """How far `value` is above `baseline`, in percent of the baseline."""
    return 100 * (value / baseline - 1)


def compare_with_baseline(
    value: float, ci95: Interval, baseline: float, baseline_ci95: Interval, limit_percent: float
) -> Difference:
    """How the value of a reproduction differs from `baseline`: only if their 95 % intervals do not
    overlap or touch, which is stricter than a test of the difference at a significance of 5 %, and
    only if the difference reaches `limit_percent` of the baseline. Intervals within a run do not
    contain the differences between runs and boards; the limit does.
    """
    if ci95 is None or baseline_ci95 is None:
        return "no interval"
    if ci95[0] <= baseline_ci95[1] and baseline_ci95[0] <= ci95[1]:
        return "intervals overlap"
    if abs(relative_percent(value, baseline)) < limit_percent:
        return "within board spread"
    return "higher" if value > baseline else "lower"


@dataclass(frozen=True)
class ResultDifference:
    """How a result differs from an original that ran on other boards, in percent of the
    original."""

    items_per_s_percent: float
    """Per accelerator."""
    joules_per_item_percent: float | None
    """None if one of the results has no energy per item."""
    agrees: bool
    """Whether no figure differs by more than the board spread beyond both 95 % intervals."""


def compare_with_original(result: Headline, original: Headline) -> ResultDifference | None:
    """How a result differs from that of the same configuration on other boards. None if the
    original did no work, which is possible with a waiver only."""
    speeds = result.items_per_s_per_accelerator, original.items_per_s_per_accelerator
    if not speeds[1].mean > 0:
        return None
    agrees = _agree(*speeds)
    joules_per_item_percent = None
    if result.joules_per_item and original.joules_per_item and original.joules_per_item.mean > 0:
        energies = result.joules_per_item, original.joules_per_item
        joules_per_item_percent = relative_percent(energies[0].mean, energies[1].mean)
        agrees = agrees and _agree(*energies)
    items_per_s_percent = relative_percent(speeds[0].mean, speeds[1].mean)
    return ResultDifference(items_per_s_percent, joules_per_item_percent, agrees)


def _agree(value: Estimate, original: Estimate) -> bool:
    difference = compare_with_baseline(
        value.mean, value.ci95, original.mean, original.ci95, BOARD_SPREAD_PERCENT
    )
    if difference == "no interval":
        return abs(relative_percent(value.mean, original.mean)) < BOARD_SPREAD_PERCENT
    return difference not in ("higher", "lower")


def site_kwh(joules_per_item: float, items: float, pue: float) -> float:
    """Energy of `items` at the meter of a site whose power usage effectiveness is `pue`, in kWh."""
    return joules_per_item * items * pue / JOULES_PER_KWH


def kwh_per_year(power_w: float) -> float:
    """Energy of a year at a constant power in W, in kWh, without cooling."""
    return power_w * SECONDS_PER_DAY * DAYS_PER_YEAR / JOULES_PER_KWH


def items_per_year(millions_per_day: float) -> float:
    """Items a year at a load in millions of items per day."""
    return millions_per_day * 1e6 * DAYS_PER_YEAR


def accelerators_needed(millions_per_day: float, items_per_s_per_accelerator: float) -> int:
    """How many accelerators carry a load that comes evenly over the day."""
    # Rounded up: a part of an accelerator cannot be bought.
    return math.ceil(millions_per_day * 1e6 / SECONDS_PER_DAY / items_per_s_per_accelerator)


def score(
    joules_per_item: float,
    highest_joules: float,
    performance_percent: float,
    weight: float,
    scaling: Literal["printed", "equal"],
) -> float:
    """The score of Yang et al. 2024, section 4.4, with performance in the place of accuracy; higher
    is better.

    score = 100 - (W (E / N) + (1 - W) (100 - A)): E energy per item, N the highest among those
    compared, W the weight of energy between 0 and 1, A here throughput as percent of the fastest
    compared. As `printed`, E / N is between 0 and 1 and energy moves the score by one point at
    most; `equal` takes 100 E / N, so that both terms range over 100 points.
    """
    share = joules_per_item / highest_joules * (100 if scaling == "equal" else 1)
    return 100 - (weight * share + (1 - weight) * (100 - performance_percent))
