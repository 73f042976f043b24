"""Accuracy against energy: the Pareto front, its tables, and the centres of classes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from rules.bundle_format.table import Floats, Mask
from rules.studies.metrics.estimates import (
    GeometricMean,
    Interval,
    draw_resamples,
    estimate_geometric_mean,
    percentile_interval,
)
from rules.studies.publications import find_publication
from rules.studies.results import ModelResult

LEVELS_PCT = (40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 83.0, 85.0, 87.0, 88.0, 89.0, 90.0)
"""Accuracies for which `compute_levels` gives the least energy."""

IMAGENET = ("imagenet",)


@dataclass(frozen=True)
class Level:
    """The least energy with which a model has at least this accuracy."""

    accuracy_pct: float
    result: ModelResult
    joules_ci95: Interval | None
    """Interval by a bootstrap over architectures; None if a sample has no such model."""


@dataclass(frozen=True)
class Decade:
    """The highest accuracy within a multiple of the least energy of all models."""

    factor: float
    """1, 10, 100, …"""
    limit_joules: float
    accuracy_pct: float
    ci95: Interval | None
    """Interval by a bootstrap over architectures; None if a sample has no model below the limit."""


@dataclass(frozen=True)
class ClassCentre:
    """The centre of a class of models."""

    model_class: str
    joules_per_image: GeometricMean
    accuracy_pct: float
    """Arithmetic mean."""


def mean_accuracy_pct(result: ModelResult, sets: Sequence[str] = IMAGENET) -> float | None:
    """The mean accuracy of a model over image sets; None if one is unknown."""
    accuracies = [result.accuracy_pct.get(name) for name in sets]
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    return fmean(known) if known and len(known) == len(accuracies) else None


def find_front(
    results: Sequence[ModelResult], sets: Sequence[str] = IMAGENET
) -> tuple[ModelResult, ...]:
    """The models for which no other has at least the accuracy with less energy, or more accuracy
    with the same energy. Sorted by energy; accuracy rises strictly."""
    return _find_front(_with_accuracy(results, sets))


def _find_front(pairs: Iterable[tuple[float, ModelResult]]) -> tuple[ModelResult, ...]:
    front: list[ModelResult] = []
    highest_pct = -math.inf
    for accuracy_pct, result in sorted(
        pairs, key=lambda pair: (pair[1].best.joules_per_image, -pair[0])
    ):
        if accuracy_pct > highest_pct:
            front.append(result)
            highest_pct = accuracy_pct
    return tuple(front)


def find_yearly_fronts(
    results: Sequence[ModelResult], sets: Sequence[str] = IMAGENET
) -> dict[int, tuple[ModelResult, ...]]:
    """The front of the models that were published by the end of each year, by year. Models without
    a year are left out."""
    dated = [
        (publication.year, mean_accuracy_pct(result, sets), result)
        for result in results
        if (publication := find_publication(result.architecture, result.tag, result.size))
    ]
    return {
        year: _find_front(
            (pct, result)
            for published, pct, result in dated
            if published <= year and pct is not None
        )
        for year in sorted({published for published, _, _ in dated})
    }


def compute_levels(
    results: Sequence[ModelResult], sets: Sequence[str] = IMAGENET
) -> tuple[Level, ...]:
    """The least energy for each of `LEVELS_PCT` that a model reaches."""
    pairs = sorted(_with_accuracy(results, sets), key=lambda pair: pair[1].best.joules_per_image)
    if not pairs:
        return ()
    accuracies_pct, energies_j = _columns(pairs)
    resamples = draw_resamples(_number_architectures(pairs))
    levels = []
    for level_pct in LEVELS_PCT:
        reaching = accuracies_pct >= level_pct
        if not reaching.any():
            break
        # Sorted by energy, so the first model that a sample holds needs the least.
        ci95 = _resample_first(resamples[:, reaching], energies_j[reaching])
        levels.append(Level(level_pct, pairs[int(reaching.argmax())][1], ci95))
    return tuple(levels)


def compute_decades(
    results: Sequence[ModelResult], sets: Sequence[str] = IMAGENET
) -> tuple[Decade, ...]:
    """The highest accuracy within 1, 10, 100, … times the least energy, up to the decade of the
    most accurate model. The limits are those of all models in every bootstrap sample."""
    # The most accurate first: the first that a sample holds has the highest accuracy.
    pairs = sorted(_with_accuracy(results, sets), key=lambda pair: -pair[0])
    if not pairs:
        return ()
    accuracies_pct, energies_j = _columns(pairs)
    resamples = draw_resamples(_number_architectures(pairs))
    least_j = float(energies_j.min())
    decades: list[Decade] = []
    while not decades or decades[-1].accuracy_pct < accuracies_pct[0]:
        factor = 10.0 ** len(decades)
        within = energies_j <= least_j * factor
        ci95 = _resample_first(resamples[:, within], accuracies_pct[within])
        highest_pct = float(accuracies_pct[within.argmax()])
        decades.append(Decade(factor, least_j * factor, highest_pct, ci95))
    return tuple(decades)


def compute_centres(
    results: Sequence[ModelResult], sets: Sequence[str] = IMAGENET
) -> tuple[ClassCentre, ...]:
    """The centre of each class, sorted by its name."""
    members: dict[str, list[tuple[float, ModelResult]]] = {}
    for accuracy_pct, result in _with_accuracy(results, sets):
        members.setdefault(result.model_class, []).append((accuracy_pct, result))
    centres = []
    for model_class, pairs in sorted(members.items()):
        energy = estimate_geometric_mean([result.best.joules_per_image for _, result in pairs])
        if energy is not None:
            centres.append(ClassCentre(model_class, energy, fmean(pct for pct, _ in pairs)))
    return tuple(centres)


def _with_accuracy(
    results: Sequence[ModelResult], sets: Sequence[str]
) -> list[tuple[float, ModelResult]]:
    return [
        (accuracy_pct, result)
        for result in results
        if (accuracy_pct := mean_accuracy_pct(result, sets)) is not None
    ]


def _columns(pairs: Sequence[tuple[float, ModelResult]]) -> tuple[Floats, Floats]:
    """Accuracies in % and energies in J per image, each of shape (n,)."""
    return (
        np.array([accuracy_pct for accuracy_pct, _ in pairs]),
        np.array([result.best.joules_per_image for _, result in pairs]),
    )


def _number_architectures(pairs: Sequence[tuple[float, ModelResult]]) -> "np.ndarray":
    # By name, so that the samples do not depend on the order of the results.
    names = np.array([result.architecture for _, result in pairs])
    return np.unique(names, return_inverse=True)[1]


def _resample_first(present: Mask, values: Floats) -> Interval | None:
    """The interval of the first value that each sample holds. `present` has shape (samples, n),
    `values` has shape (n,)."""
    firsts = values[present.argmax(axis=1)]
    return percentile_interval(np.where(present.any(axis=1), firsts, np.inf))
