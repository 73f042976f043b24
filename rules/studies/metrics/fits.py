"""Fits of energy per image: over activations and FLOPs, and over the side of the image."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.metrics.figures import student_t95
from rules.studies.metrics.estimates import Interval, Median, estimate_median
from rules.studies.results import ModelResult

_LEAST_SINGULAR_SHARE = 1e-8
"""The least singular value of a fit, as a share of the largest. Below it, rounding decides the
coefficients."""


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a least-squares fit."""

    value: float
    standard_error: float
    ci95: Interval


@dataclass(frozen=True)
class EnergyFit:
    """log E = intercept + activations x log(activations) + flops x log(FLOPs) over n models, by
    least squares, with natural logarithms, E in J per image, and activations and FLOPs per image.

    A coefficient is an exponent: energy grows with this power of the quantity.
    """

    n: int
    intercept: Coefficient
    activations: Coefficient
    flops: Coefficient
    r2: float
    residual_sd: float
    """Standard deviation of the residuals of log E."""


def fit_energy(results: Sequence[ModelResult]) -> EnergyFit | None:
    """Fit the energy of models over activations and FLOPs. Returns None for fewer than five models,
    or if activations and FLOPs of all are proportional.

    The standard errors are the usual ones of least squares: models are taken as independent.
    """
    rows = [
        (result.best.joules_per_image, result.activations, result.flops)
        for result in results
        if result.activations and result.flops
    ]
    n = len(rows)
    if n < 5:
        return None
    log_energies, *log_sizes = np.log(np.array(rows, dtype=np.float64)).T
    # Centred: the logarithms are large against their spread.
    means = np.array([0.0, *(column.mean() for column in log_sizes)])
    matrix = np.column_stack([np.ones(n), *log_sizes]) - means
    # By singular values: normal equations would leave few digits where sizes are almost
    # proportional, and another machine would get other digits.
    left, singular_values, right = np.linalg.svd(matrix, full_matrices=False)
    total = float(((log_energies - log_energies.mean()) ** 2).sum())
    if singular_values[-1] < _LEAST_SINGULAR_SHARE * singular_values[0] or total == 0:
        return None
    values = right.T @ ((left.T @ log_energies) / singular_values)
    squares = float(((log_energies - matrix @ values) ** 2).sum())
    degrees = n - 3
    variance = squares / degrees
    covariance = variance * (right.T / singular_values**2) @ right
    # The intercept at the origin of the logarithms, from that at their means.
    to_origin = np.array([1.0, *-means[1:]])
    intercept = float(to_origin @ values)
    errors = [np.sqrt(to_origin @ covariance @ to_origin), *np.sqrt(np.diag(covariance)[1:])]
    intercept_fit, activations_fit, flops_fit = (
        make_coefficient(float(value), float(error), degrees)
        for value, error in zip([intercept, *values[1:]], errors, strict=True)
    )
    return EnergyFit(
        n=n,
        intercept=intercept_fit,
        activations=activations_fit,
        flops=flops_fit,
        r2=1 - squares / total,
        residual_sd=float(np.sqrt(variance)),
    )


def make_coefficient(value: float, standard_error: float, degrees: int) -> Coefficient:
    """A coefficient with its interval by Student's t for `degrees` degrees of freedom."""
    half_width = student_t95(degrees) * standard_error
    return Coefficient(value, standard_error, (value - half_width, value + half_width))


def fit_size_exponent(results: Sequence[ModelResult]) -> Median | None:
    """The slope of log E over the logarithm of the side of the image: the median over all models
    that were measured at two or more sizes. It is 2 where energy is proportional to pixels. Returns
    None without such models."""
    models: dict[tuple[str, str | None], list[tuple[float, float]]] = {}
    for result in results:
        models.setdefault((result.architecture, result.tag), []).append(
            (np.log(result.size), np.log(result.best.joules_per_image))
        )
    slopes = []
    for points in models.values():
        sides, energies = np.array(points).T
        if np.ptp(sides) > 0:
            sides = sides - sides.mean()
            slopes.append(float((sides * energies).sum() / (sides * sides).sum()))
    return estimate_median(slopes)
