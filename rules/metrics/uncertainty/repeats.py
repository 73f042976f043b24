"""Spread of repeated runs: within a run, between runs on one board, and between boards, kept apart.

A setting is one configuration at one cap on boards of one model. Its runs are repeats. All spreads
are relative standard deviations in percent of the mean of the setting.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from rules.metrics.figures import student_t95

_NORMAL95 = 1.9599
"""The two-sided 95 % quantile of the normal distribution, rounded down."""


@dataclass(frozen=True)
class Repeat:
    """One figure of one run of a setting."""

    boards: str
    """Which boards it ran on; equal for runs on the same ones."""
    mean: float
    epochs: int
    epoch_sd: float | None
    """Standard deviation of its epochs, in the unit of the mean; None for one epoch."""


@dataclass(frozen=True)
class Component:
    """A standard deviation in percent, estimated with so many degrees of freedom."""

    percent: float
    degrees_of_freedom: int


@dataclass(frozen=True)
class Components:
    """The spread of one figure of one setting. A component is None where it cannot be estimated."""

    epochs: Component | None
    """Between the epochs of a run."""
    runs: Component | None
    """Between the means of runs on the same boards; None unless some boards have two runs."""
    boards: Component | None
    """Between the means of boards; None for one board. Each such mean has the spread between runs
    in it, divided by the number of its runs."""


def compute_components(repeats: Sequence[Repeat]) -> Components:
    """The spread of at least one repeat of a setting with a mean above zero."""
    mean = fmean(repeat.mean for repeat in repeats)
    means_by_boards: dict[str, list[float]] = {}
    for repeat in repeats:
        means_by_boards.setdefault(repeat.boards, []).append(repeat.mean)
    board_means = [fmean(means) for means in means_by_boards.values()]
    return Components(
        epochs=_pool(
            (
                (repeat.epochs - 1) * (repeat.epoch_sd / mean) ** 2,
                repeat.epochs - 1,
            )
            for repeat in repeats
            if repeat.epoch_sd is not None
        ),
        runs=_pool(_sum_squares(means, mean) for means in means_by_boards.values()),
        boards=_pool([_sum_squares(board_means, mean)]),
    )


def _sum_squares(values: Sequence[float], scale: float) -> tuple[float, int]:
    """Sum of squared deviations from their mean as shares of `scale`, and degrees of freedom."""
    mean = fmean(values)
    return math.fsum(((value - mean) / scale) ** 2 for value in values), len(values) - 1


def _pool(sums: Iterable[tuple[float, int]]) -> Component | None:
    """The common standard deviation of several sums of squares, each with its degrees of
    freedom."""
    pairs = list(sums)
    degrees_of_freedom = sum(degrees for _, degrees in pairs)
    if degrees_of_freedom == 0:
        return None
    squares = math.fsum(square for square, _ in pairs)
    return Component(100 * math.sqrt(squares / degrees_of_freedom), degrees_of_freedom)


def count_needed_runs(sd_percent: float, target_percent: float) -> int:
    """How many runs with this standard deviation have a mean whose 95 % interval by Student's t is
    at most `target_percent` > 0 on either side; at least two."""
    # Student's quantile exceeds that of the normal distribution, so fewer runs cannot do.
    runs = max(2, math.ceil((_NORMAL95 * sd_percent / target_percent) ** 2))
    while student_t95(runs - 1) * sd_percent > target_percent * math.sqrt(runs):
        runs += 1
    return runs
