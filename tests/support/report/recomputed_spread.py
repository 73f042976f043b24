"""Spread of epochs, runs and boards, recomputed with NumPy. No arithmetic of `reporting` takes
part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from support.report.recomputed_results import (
    JOULES,
    PER_JOULE,
    RATE,
    Numbers,
    Result,
    list_estimate_columns,
)

from rules.metrics.figures import STUDENT_T95, student_t95
from rules.metrics.uncertainty.within_run import describe_epochs

COMPARED_COLUMNS = (("rate", RATE), ("joules", JOULES))
"""The columns of comparisons, by the start of their keys, and the figures that they compare."""


def count_runs(repeats: Sequence[Result]) -> Numbers:
    """How many runs and boards a setting rests on; nothing for a printed row."""
    boards = [" ".join(sorted(r.bundle.accelerator_ranks)) for r in repeats if r.bundle]
    if not boards:
        return {}
    return {
        "runs": len(boards),
        "boards_n": len({board for names in boards for board in names.split()}),
    }


def list_epoch_figures(result: Result) -> Numbers:
    """Autocorrelation and drift by NumPy's least squares."""
    figures = result.loaded_bundle.figures
    assert figures is not None
    headline = describe_epochs(figures).headline
    numbers = dict(result.numbers)
    for prefix, key in COMPARED_COLUMNS:
        numbers |= list_estimate_columns(key, getattr(headline, key))
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


@dataclass(frozen=True)
class Spread:
    """Variances of one figure on boards of one model, as shares of the mean, squared."""

    boards: float
    runs: float | None
    quantile: float
    """Of Student's t, for the degrees of freedom between boards."""
    run_quantile: float | None


Spreads = dict[str, dict[str, Spread]]
"""The spreads of throughput and energy, by the model of the board."""


def group_by_board(repeats: Sequence[Result], key: str) -> dict[str, np.ndarray]:
    groups: dict[str, list[float]] = {}
    for r in repeats:
        boards = " ".join(sorted(r.loaded_bundle.accelerator_ranks))
        groups.setdefault(boards, []).append(r.numbers[key])
    return {boards: np.array(values) for boards, values in groups.items()}


def measure_spreads(settings: Sequence[Sequence[Result]]) -> Spreads:
    """The spreads that the repeats of each setting on one accelerator show, by analysis of
    variance. All models share the spread between runs on one board."""
    repeated = [repeats for repeats in settings if len(repeats) > 1]
    spreads: Spreads = {}
    for key in (RATE, JOULES):
        runs = [
            values / values.mean()
            for repeats in repeated
            for values in group_by_board(repeats, key).values()
        ]
        run_df = sum(len(values) - 1 for values in runs)
        run_variance = sum(float(((v - 1) ** 2).sum()) for v in runs) / run_df if run_df else 0.0
        for model in {repeats[0].model for repeats in repeated}:
            squares, degrees, weight = 0.0, 0, 0.0
            for repeats in repeated:
                if repeats[0].model == model:
                    groups = list(group_by_board(repeats, key).values())
                    means = np.array([group.mean() for group in groups])
                    squares += float(((means / means.mean() - 1) ** 2).sum())
                    degrees += len(means) - 1
                    weight += (len(means) - 1) * float(np.mean([1 / len(g) for g in groups]))
            if degrees >= 3:
                own_runs = run_variance if run_df >= 3 else None
                boards = squares / degrees - (own_runs or 0) * weight / degrees
                spreads.setdefault(model, {})[key] = Spread(
                    max(boards, 0.0),
                    own_runs,
                    student_t95(degrees),
                    student_t95(run_df) if run_df >= 3 else None,
                )
    return spreads


def find_spread(spreads: Spreads, model: str, key: str) -> Spread:
    """The spread of a model, or that of the only known one."""
    if model not in spreads:
        (model,) = spreads
    return spreads[model][key]


def get_shares(repeats: Sequence[Result]) -> dict[str, float]:
    counts = {board: len(v) for board, v in group_by_board(repeats, RATE).items()}
    return {board: count / len(repeats) for board, count in counts.items()}


def predict_another_run(repeats: Sequence[Result], key: str, spreads: Spreads) -> Numbers:
    """The mean of a setting, and the interval of one more run on another board."""
    spread = find_spread(spreads, repeats[0].model, JOULES if key == PER_JOULE else key)
    mean = np.mean([r.numbers[key] for r in repeats])
    weight = 1 + sum(share**2 for share in get_shares(repeats).values())
    variance = weight * spread.boards + (1 + 1 / len(repeats)) * (spread.runs or 0.0)
    half_width = mean * spread.quantile * np.sqrt(variance)
    return {
        key: mean,
        f"{key}_low": mean - half_width,
        f"{key}_high": mean + half_width,
        f"{key}_n": len(repeats),
    }


@dataclass(frozen=True)
class Difference:
    percent: float
    half_width: float
    """Of the logarithm of the ratio."""
    shared_boards: int

    @property
    def counts(self) -> bool:
        return abs(np.log1p(self.percent / 100)) > self.half_width


def compare_repeats(
    repeats: Sequence[Result],
    base: Sequence[Result],
    key: str,
    spreads: Spreads,
    on_shared_boards: bool = True,
) -> Difference:
    """The difference of two settings, on shared boards alone if that interval is narrower."""
    spread, base_spread = (find_spread(spreads, s[0].model, key) for s in (repeats, base))
    shares, base_shares = get_shares(repeats), get_shares(base)
    common = sum(s * base_shares.get(board, 0.0) for board, s in shares.items())
    if spread.runs is None:
        common = 0.0
    variance = sum(
        (sum(s**2 for s in own.values()) - common) * of.boards + (of.runs or 0.0) / len(runs)
        for own, of, runs in ((shares, spread, repeats), (base_shares, base_spread, base))
    )
    means = [np.mean([r.numbers[key] for r in runs]) for runs in (repeats, base)]
    quantile = max(spread.quantile, base_spread.quantile)
    if common and spread.run_quantile is not None:
        quantile = max(quantile, spread.run_quantile)
    over_all = Difference(100 * (means[0] / means[1] - 1), quantile * np.sqrt(variance), 0)
    groups, base_groups = group_by_board(repeats, key), group_by_board(base, key)
    shared = groups.keys() & base_groups.keys()
    if not shared or not on_shared_boards or spread.runs is None or spread.run_quantile is None:
        return over_all
    ratios = [np.log(groups[board].mean() / base_groups[board].mean()) for board in shared]
    weight = sum(1 / len(groups[b]) + 1 / len(base_groups[b]) for b in shared) / len(shared) ** 2
    paired = Difference(
        100 * np.expm1(np.mean(ratios)),
        spread.run_quantile * np.sqrt(spread.runs * weight),
        len(shared),
    )
    return min(paired, over_all, key=lambda difference: difference.half_width)


def state_intervals(results: Sequence[Result], spreads: Spreads) -> list[Result]:
    """The results with the intervals of the page: of another run on another board. Demo runs have
    none, and neither has power."""
    return [_state_interval(r, spreads) if r.bundle else r for r in results]


def _state_interval(result: Result, spreads: Spreads) -> Result:
    numbers = {k: v for k, v in result.numbers.items() if not k.startswith("power_w_")}
    for key in (RATE, JOULES, PER_JOULE):
        if result.standing == "demo":
            numbers |= {f"{key}_low": None, f"{key}_high": None, f"{key}_n": 1}
        else:
            numbers |= predict_another_run([result], key, spreads)
    if "over_naive" in numbers:
        scale = numbers["over_naive"] / numbers[JOULES]
        for end in ("_low", "_high"):
            value = numbers[f"{JOULES}{end}"]
            numbers[f"over_naive{end}"] = value and scale * value
    return replace(result, numbers=numbers)


def find_board_limit(spreads: Spreads, model: str, key: str) -> float:
    """The least difference of two single runs on different boards that is told apart, in
    percent."""
    spread = find_spread(spreads, model, key)
    variance = 2 * (spread.boards + (spread.runs or 0.0))
    return float(100 * np.expm1(spread.quantile * np.sqrt(variance)))
