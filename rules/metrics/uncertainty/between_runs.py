"""What repeated runs tell about a setting: what another run on another board would give, and how
far two settings differ.

A run gives the mean of its setting times 1 + b + r: b differs between the boards of one kind, r
between the runs on one board, and both are normal. One setting has too few repeats to know their
variances, so these are pooled over all settings with repeats.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from rules.metrics.figures import Estimate, student_t95, student_t99
from rules.metrics.uncertainty.repeats import Component

RunsByBoard = Mapping[str, Sequence[float]]
"""The values of the runs of a setting, all above zero, by their boards."""
Certainty = Literal["certain", "likely", "not told apart"]
"""Whether the 99 % interval of a difference excludes zero, only that of 95 %, or none."""


@dataclass(frozen=True)
class RunSpread:
    """How far the runs of one setting are apart on boards of one kind, in percent of its mean."""

    boards: Component
    """Between the means of boards."""
    runs: Component | None
    """Between runs on one board; None if it is not known."""
    runs_share: float = 1.0
    """The share of the variance between runs that the variance between the means of boards
    contains: the mean of 1 / (runs on a board)."""

    def compute_variance(self, boards: float, runs: float) -> float:
        """`boards` x the variance between boards + `runs` x that between runs on one board, as a
        share of the mean, squared. Runs of unknown spread count as boards do."""
        board_variance, run_variance = (self.boards.percent / 100) ** 2, 0.0
        if self.runs is not None:
            run_variance = (self.runs.percent / 100) ** 2
            board_variance = max(board_variance - self.runs_share * run_variance, 0.0)
        return boards * board_variance + runs * run_variance


def pool_run_spread(settings: Sequence[RunsByBoard]) -> RunSpread | None:
    """The spread that settings of one kind of board have in common, by analysis of variance; None
    if no setting ran on two boards."""
    squares = runs_share = 0.0
    degrees = 0
    for setting in settings:
        board_means = [fmean(values) for values in setting.values()]
        mean = fmean(board_means)
        squares += math.fsum((value / mean - 1) ** 2 for value in board_means)
        degrees += len(board_means) - 1
        shares = fmean(1 / len(values) for values in setting.values())
        runs_share += (len(board_means) - 1) * shares
    if degrees == 0:
        return None
    runs = pool_runs_on_one_board(settings)
    return RunSpread(_make_component(squares, degrees), runs, runs_share / degrees)


def pool_runs_on_one_board(settings: Iterable[RunsByBoard]) -> Component | None:
    """The spread between runs of one setting on one board; None if no board has two runs of a
    setting."""
    boards = [values for setting in settings for values in setting.values()]
    degrees = sum(len(values) - 1 for values in boards)
    if degrees == 0:
        return None
    squares = math.fsum((value / fmean(runs) - 1) ** 2 for runs in boards for value in runs)
    return _make_component(squares, degrees)


def _make_component(squares: float, degrees: int) -> Component:
    return Component(100 * math.sqrt(squares / degrees), degrees)


def estimate_another_run(setting: RunsByBoard, spread: RunSpread) -> Estimate:
    """The mean over the runs of a setting, with the 95 % interval of what one more run gives on
    another board of this kind."""
    mean, runs, shares = _describe_runs(setting)
    variance = spread.compute_variance(
        1 + math.fsum(share**2 for share in shares.values()), 1 + 1 / runs
    )
    half_width = mean * student_t95(spread.boards.degrees_of_freedom) * math.sqrt(variance)
    return Estimate(mean, runs, None, (mean - half_width, mean + half_width))


def _describe_runs(setting: RunsByBoard) -> tuple[float, int, dict[str, float]]:
    """Mean over runs, number of runs, and the share of each board in them."""
    values = [value for runs in setting.values() for value in runs]
    return fmean(values), len(values), {k: len(v) / len(values) for k, v in setting.items()}


@dataclass(frozen=True)
class SettingDifference:
    """How far the mean of a setting over all boards of its kind is above that of another one."""

    percent: float
    """Of the other one."""
    ci95: tuple[float, float]
    certainty: Certainty
    boards: int
    """The number of shared boards, if only these were compared; 0 if all runs were."""

    @property
    def counts(self) -> bool:
        """Whether the settings are told apart."""
        return self.certainty != "not told apart"


def compare_settings(
    setting: RunsByBoard,
    spread: RunSpread,
    baseline: RunsByBoard,
    baseline_spread: RunSpread,
    on_shared_boards: bool = True,
) -> SettingDifference:
    """The difference between two settings, with the spread of the kind of board of each.

    Differences between boards drop out where both settings ran on the same ones. The narrower of
    two intervals counts: that over all runs, and that `on_shared_boards` alone. Which one is
    narrower follows from the numbers of runs and boards, not from the values.
    """
    shared = [board for board in setting if board in baseline]
    candidates = [_compare_all_runs(setting, spread, baseline, baseline_spread)]
    if on_shared_boards and spread.runs is not None and shared:
        candidates.insert(0, _compare_on_boards(setting, baseline, shared, spread.runs))
    log_ratio, error, degrees, boards = min(
        candidates, key=lambda candidate: student_t95(candidate[2]) * candidate[1]
    )
    half_width = student_t95(degrees) * error
    low, mid, high = (
        100 * math.expm1(log_ratio + shift) for shift in (-half_width, 0.0, half_width)
    )
    certainty: Certainty = "not told apart"
    if abs(log_ratio) > student_t99(degrees) * error:
        certainty = "certain"
    elif abs(log_ratio) > half_width:
        certainty = "likely"
    return SettingDifference(mid, (low, high), certainty, boards)


_LogRatio = tuple[float, float, int, int]
"""The logarithm of a ratio, its standard error, degrees of freedom, and the number of boards if
only shared ones were compared."""


def _compare_all_runs(
    setting: RunsByBoard, spread: RunSpread, baseline: RunsByBoard, baseline_spread: RunSpread
) -> _LogRatio:
    mean, runs, shares = _describe_runs(setting)
    baseline_mean, baseline_runs, baseline_shares = _describe_runs(baseline)
    # What a board adds to both means adds nothing to their ratio. Without a spread between runs on
    # one board nothing would be left, so shared boards then count as others do.
    common = (
        math.fsum(share * baseline_shares.get(board, 0.0) for board, share in shares.items())
        if spread.runs and baseline_spread.runs
        else 0.0
    )
    variance = spread.compute_variance(
        math.fsum(share**2 for share in shares.values()) - common, 1 / runs
    ) + baseline_spread.compute_variance(
        math.fsum(share**2 for share in baseline_shares.values()) - common, 1 / baseline_runs
    )
    degrees = min(spread.boards.degrees_of_freedom, baseline_spread.boards.degrees_of_freedom)
    # Of runs on the same boards, the spread between runs is all that is left, or the most of it.
    if common and spread.runs:
        degrees = min(degrees, spread.runs.degrees_of_freedom)
    return math.log(mean / baseline_mean), math.sqrt(variance), degrees, 0


def _compare_on_boards(
    setting: RunsByBoard, baseline: RunsByBoard, boards: Sequence[str], spread: Component
) -> _LogRatio:
    ratios = [math.log(fmean(setting[board]) / fmean(baseline[board])) for board in boards]
    weight = (
        math.fsum(1 / len(runs[board]) for runs in (setting, baseline) for board in boards)
        / len(boards) ** 2
    )
    error = spread.percent / 100 * math.sqrt(weight)
    return fmean(ratios), error, spread.degrees_of_freedom, len(boards)
