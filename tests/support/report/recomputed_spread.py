"""Spread of epochs, runs and boards, recomputed with NumPy. No arithmetic of `reporting` takes
part."""

from collections.abc import Sequence

import numpy as np
from support.report.recomputed_results import JOULES, RATE, Numbers, Result

from rules.metrics.figures import STUDENT_T95
from rules.metrics.uncertainty.within_run import describe_epochs

COMPARED_COLUMNS = (("rate", RATE), ("joules", JOULES))
"""The columns of comparisons, by the start of their keys, and the figures that they compare."""


def count_runs(repeats: Sequence[Result]) -> Numbers:
    """How many runs and boards a setting rests on; nothing for a printed row."""
    boards = [" ".join(sorted(r.bundle.accelerator_ranks)) for r in repeats if r.bundle]
    if not boards:
        return {}
    counts = np.array([boards.count(name) for name in set(boards)])
    return {
        "runs": len(boards),
        "boards_n": len({board for names in boards for board in names.split()}),
        "boards_effective": counts.sum() ** 2 / (counts**2).sum(),
    }


def list_epoch_figures(result: Result) -> Numbers:
    """Autocorrelation and drift by NumPy's least squares."""
    figures = result.loaded_bundle.figures
    assert figures is not None
    numbers = dict(result.numbers)
    for prefix, key in COMPARED_COLUMNS:
        values = np.array([getattr(epoch, key) for epoch in figures.scored_epochs], dtype=float)
        residuals, last = values - values.mean(), len(values) - 1
        autocorrelation = (residuals[1:] * residuals[:-1]).sum() / (residuals**2).sum()
        # The covariance matrix needs residual degrees of freedom, which three epochs do not have.
        (slope, _), covariance = np.polyfit(range(len(values)), values, 1, cov=True)
        quantile = STUDENT_T95[len(values) - 3]
        half_width = quantile * np.sqrt(covariance[0, 0]) * last
        numbers |= {
            f"{prefix}_autocorrelation": autocorrelation,
            f"{prefix}_drift_percent": 100 * slope * last / values.mean(),
            f"{prefix}_drift_half_percent": 100 * half_width / values.mean(),
        }
    return numbers


def list_components(repeats: Sequence[Result], figure: str) -> Numbers:
    """The standard deviations of a setting by NumPy."""
    key = {"throughput": RATE, "energy": JOULES}[figure]
    mean = np.mean([r.numbers[key] for r in repeats])
    estimates = [
        getattr(describe_epochs(r.loaded_bundle.figures).headline, key)
        for r in repeats
        if r.loaded_bundle.figures
    ]
    epochs_df = sum(estimate.n - 1 for estimate in estimates)
    squares = sum((estimate.n - 1) * estimate.sd**2 for estimate in estimates)
    groups: dict[tuple[str, ...], list[float]] = {}
    for r in repeats:
        boards = tuple(sorted(r.loaded_bundle.accelerator_ranks))
        groups.setdefault(boards, []).append(r.numbers[key])
    runs_df = len(repeats) - len(groups)
    numbers = count_runs(repeats) | {
        "cap_w": repeats[0].cap_w,
        "epochs_percent": 100 * np.sqrt(squares / epochs_df) / mean,
        "epochs_df": epochs_df,
    }
    if runs_df:
        squares = sum(np.var(group) * len(group) for group in groups.values())
        numbers |= {
            "run_means_percent": 100 * np.sqrt(squares / runs_df) / mean,
            "run_means_df": runs_df,
        }
    if len(groups) > 1:
        board_means = [np.mean(group) for group in groups.values()]
        numbers |= {
            "board_means_percent": 100 * np.std(board_means, ddof=1) / mean,
            "board_means_df": len(groups) - 1,
        }
    return numbers


def find_board_limits(settings: Sequence[Sequence[Result]]) -> tuple[float, float]:
    """The least differences of throughput and energy between two boards that count, in percent,
    from the repeats of each setting on one accelerator."""
    limits = []
    for key in (RATE, JOULES):
        squares, degrees_of_freedom = 0.0, 0
        for repeats in settings:
            boards: dict[str, list[float]] = {}
            for r in repeats:
                boards.setdefault(str(sorted(r.loaded_bundle.accelerator_ranks)), []).append(
                    r.numbers[key]
                )
            means = np.array([np.mean(values) for values in boards.values()])
            overall = np.mean([r.numbers[key] for r in repeats])
            squares += float((((means - means.mean()) / overall) ** 2).sum())
            degrees_of_freedom += len(means) - 1
        deviation = 100 * np.sqrt(squares / degrees_of_freedom)
        limits.append(STUDENT_T95[degrees_of_freedom - 1] * np.sqrt(2) * deviation)
    return limits[0], limits[1]
