"""Correlations: of energy between setups, and of energy with the sizes of models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rules.bundle_format.table import Floats
from rules.metrics.figures import student_t95
from rules.studies.metrics.estimates import Figure
from rules.studies.results import ModelResult

ModelSize = Literal["params", "flops", "activations"]
MODEL_SIZES: tuple[ModelSize, ...] = ("params", "flops", "activations")

_MIN_PAIRS = 4
_HIGHEST = 1 - 1e-9
"""Above it, rounding decides Fisher's z, so there is no interval."""


@dataclass(frozen=True)
class Correlation:
    """Correlation coefficients of n pairs of positive values."""

    n: int
    pearson: Figure
    """Of the values themselves, as in the published study."""
    log_pearson: Figure
    """Of their logarithms."""
    spearman: Figure
    """Of their ranks; equal values have the mean of their ranks."""


def correlate(x: Floats, y: Floats) -> Correlation | None:
    """Correlate n pairs of positive values, each argument of shape (n,). Returns None for fewer
    than four pairs, or if the values of one side are equal.

    The intervals of Pearson's coefficients are by the jackknife on Fisher's z, because energies are
    far from normally distributed. That of Spearman's is by Bonett and Wright, Psychometrika 65
    (2000), 23-28.
    """
    n = len(x)
    if n < _MIN_PAIRS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    rho = _pearson(rank(x), rank(y))
    error = float(np.sqrt((1 + rho**2 / 2) / (n - 3)))
    return Correlation(
        n=n,
        pearson=_estimate_pearson(x, y),
        log_pearson=_estimate_pearson(np.log(x), np.log(y)),
        spearman=_figure_around(rho, error, student_t95(n - 1)),
    )


def correlate_with_size(results: Sequence[ModelResult], quantity: ModelSize) -> Correlation | None:
    """Correlate a size of models with their energy per image; see `correlate`."""
    pairs = [
        (size, result.best.joules_per_image)
        for result in results
        if (size := getattr(result, quantity)) is not None and size > 0
    ]
    sizes, energies_j = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return correlate(sizes, energies_j)


def rank(values: Floats) -> Floats:
    """Return the ranks of n values, from 1, shape (n,); equal values have the mean of their
    ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    ranks: Floats = (last_ranks - (counts - 1) / 2)[inverse]
    return ranks


def _pearson(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _estimate_pearson(x: Floats, y: Floats) -> Figure:
    n, m = len(x), len(x) - 1
    u, v = x - x.mean(), y - y.mean()
    # The centred sums without each pair in turn: a pair takes its product with it, and moves the
    # means.
    s_uu, s_vv, s_uv = ((a * b).sum() - a * b * n / m for a, b in ((u, u), (v, v), (u, v)))
    with np.errstate(invalid="ignore", divide="ignore"):
        partial = s_uv / np.sqrt(s_uu * s_vv)
    r = _pearson(x, y)
    # NaN where the values of one side are equal but for one pair.
    if not (np.abs(partial) < _HIGHEST).all():
        return Figure(r, None)
    z = np.arctanh(partial)
    error = float(np.sqrt(m / n * ((z - z.mean()) ** 2).sum()))
    return _figure_around(r, error, student_t95(m))


def _figure_around(r: float, error: float, quantile: float) -> Figure:
    """The coefficient `r` with the interval that the standard error of its z gives."""
    if not abs(r) < _HIGHEST:
        return Figure(r, None)
    z = np.arctanh(r)
    low, high = np.tanh([z - quantile * error, z + quantile * error]).tolist()
    return Figure(r, (low, high))
