"""Two setups compared over the models that both have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rules.studies.metrics.correlations import Correlation, correlate
from rules.studies.metrics.estimates import (
    GeometricMean,
    Median,
    estimate_geometric_mean,
    estimate_median,
)
from rules.studies.results import ModelResult, Setup

ModelKey = tuple[str, str | None, int]


@dataclass(frozen=True)
class SetupComparison:
    """A setup over another, model by model."""

    numerator: Setup
    denominator: Setup
    energy_ratio: GeometricMean
    """J per image of the numerator over that of the denominator."""
    throughput_ratio: GeometricMean
    """The same for images per second."""
    energy_difference: Median
    """Median over the models of the larger energy over the smaller, less 1: the noise of the method
    if both setups are the same."""
    energy_correlation: Correlation | None


def group_by_setup(results: Sequence[ModelResult]) -> dict[Setup, tuple[ModelResult, ...]]:
    """The results of each setup, in the order of its first result."""
    groups: dict[Setup, list[ModelResult]] = {}
    for result in results:
        groups.setdefault(result.setup, []).append(result)
    return {setup: tuple(members) for setup, members in groups.items()}


def keep_common(
    groups: Mapping[Setup, Sequence[ModelResult]],
) -> dict[Setup, tuple[ModelResult, ...]]:
    """The results of the models that all setups have."""
    common = set.intersection(*({model_key(r) for r in results} for results in groups.values()))
    return {
        setup: tuple(result for result in results if model_key(result) in common)
        for setup, results in groups.items()
    }


def merge_weights(results: Sequence[ModelResult]) -> tuple[ModelResult, ...]:
    """One result for each architecture and input size of one setup, with tag None: that of the
    weights with the median energy. It makes results comparable with those of seeded weights."""
    groups: dict[tuple[str, int], list[ModelResult]] = {}
    for result in results:
        groups.setdefault((result.architecture, result.size), []).append(result)
    merged = []
    for twins in groups.values():
        twins.sort(key=lambda result: result.best.joules_per_image)
        # The lower one of an even number.
        merged.append(replace(twins[(len(twins) - 1) // 2], tag=None))
    return tuple(merged)


def model_key(result: ModelResult) -> ModelKey:
    """What two results of the same model have in common: architecture, weights and input size."""
    return result.architecture, result.tag, result.size


def compare_setups(
    numerators: Sequence[ModelResult], denominators: Sequence[ModelResult]
) -> SetupComparison | None:
    """Compare two setups over their common models. Returns None if there are none."""
    denominators_by_key = {model_key(result): result for result in denominators}
    pairs = [
        (result, denominators_by_key[model_key(result)])
        for result in numerators
        if model_key(result) in denominators_by_key
    ]
    if not pairs:
        return None
    energies_j = np.array([[r.best.joules_per_image for r in pair] for pair in pairs]).T
    rates = np.array([[r.best.images_per_s for r in pair] for pair in pairs]).T
    ratios = energies_j[0] / energies_j[1]
    energy_ratio = estimate_geometric_mean(ratios)
    throughput_ratio = estimate_geometric_mean(rates[0] / rates[1])
    difference = estimate_median(np.maximum(ratios, 1 / ratios) - 1)
    assert energy_ratio and throughput_ratio and difference
    return SetupComparison(
        numerator=pairs[0][0].setup,
        denominator=pairs[0][1].setup,
        energy_ratio=energy_ratio,
        throughput_ratio=throughput_ratio,
        energy_difference=difference,
        energy_correlation=correlate(energies_j[0], energies_j[1]),
    )
