"""Settings of a sweep compared on the same boards, so that differences between boards drop out.

Boards of one model differ by some percent under one cap, and runs on one board by a few tenths of a
percent. The ratio of two settings that ran on one board contains no difference between boards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.metrics.figures import Estimate, student_t95
from rules.metrics.uncertainty.repeats import Component


@dataclass(frozen=True)
class BoardRun:
    """One figure of one run of a setting."""

    setting: str
    boards: str
    """Which boards it ran on; equal for runs on the same ones."""
    value: float
    """Above zero."""


def estimate_changes_on_same_boards(
    runs: Sequence[BoardRun], reference: str, run_spread: Component
) -> dict[str, Estimate]:
    """The change of each setting against the reference in percent, with its 95 % interval, by
    setting. Settings that no chain of shared boards connects with the reference are left out, and
    so is the reference.

    The logarithm of a value is the sum of a term for its setting and one for its boards, by least
    squares. A setting that shares no board with the reference is compared with it through other
    settings. `run_spread` is the spread of runs of one setting on one board. Source: analysis of
    incomplete blocks; Cochran and Cox, Experimental Designs, 2nd edition, chapter 9.
    """
    connected_runs = _select_connected(runs, reference)
    settings = list(dict.fromkeys(run.setting for run in connected_runs))
    board_sets = list(dict.fromkeys(run.boards for run in connected_runs))
    if len(settings) < 2:
        return {}
    others = [setting for setting in settings if setting != reference]
    # The reference has no term of its own: those of the others are changes against it.
    design = np.array(
        [
            [run.setting == setting for setting in others]
            + [run.boards == boards for boards in board_sets]
            for run in connected_runs
        ],
        dtype=float,
    )
    inverse = np.linalg.inv(design.T @ design)
    terms = inverse @ design.T @ np.log([run.value for run in connected_runs])
    degrees = run_spread.degrees_of_freedom
    quantile = student_t95(degrees) * run_spread.percent / 100
    changes = {}
    for place, setting in enumerate(others):
        half_width = quantile * math.sqrt(inverse[place, place])
        percents = [
            100 * math.expm1(terms[place] + shift) for shift in (0, -half_width, half_width)
        ]
        changes[setting] = Estimate(percents[0], degrees + 1, None, (percents[1], percents[2]))
    return changes


def _select_connected(runs: Sequence[BoardRun], reference: str) -> list[BoardRun]:
    """The runs that a chain of shared boards and settings connects with the reference."""
    settings, boards = {reference}, set[str]()
    while True:
        connected = [run for run in runs if run.setting in settings or run.boards in boards]
        size = len(settings) + len(boards)
        settings |= {run.setting for run in connected}
        boards |= {run.boards for run in connected}
        if len(settings) + len(boards) == size:
            return connected
