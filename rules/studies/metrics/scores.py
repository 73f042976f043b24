"""Scores that weigh the energy of a model against its accuracy.

    score = 100 - (w x energy term + (1 - w) x (100 - accuracy in %))

Source: Yang, Adámek and Armour, section 4.4, and the program of its authors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rules.studies.metrics.fronts import IMAGENET, mean_accuracy_pct
from rules.studies.results import ModelResult

Scaling = Literal["equal", "printed", "log"]
"""The energy term of a model with energy E, where the models of the setup need E_min to N:

- `equal`: 100 E / N, as the program of the authors computes it;
- `printed`: E / N, as the formula of the paper is printed, so that energy moves a score by at most
  one point;
- `log`: 100 log(E / E_min) / log(N / E_min). In `equal`, a few models with very high energy make
  the terms of all others almost zero. In `log`, a factor in energy counts the same everywhere.
"""


@dataclass(frozen=True)
class EnergyRange:
    """The least and the largest energy of all models of a setup, also of those that a selection
    leaves out. A score depends on this range, so scores of two setups cannot be compared."""

    least_joules: float
    largest_joules: float


@dataclass(frozen=True)
class Score:
    """The score of a model; higher is better."""

    score: float
    result: ModelResult


def find_energy_range(results: Sequence[ModelResult]) -> EnergyRange:
    """The range of the energies of at least one model."""
    energies_j = [result.best.joules_per_image for result in results]
    return EnergyRange(min(energies_j), max(energies_j))


def compute_score(
    joules_per_image: float,
    accuracy_pct: float,
    energy_weight: float,
    energies: EnergyRange,
    scaling: Scaling = "equal",
) -> float:
    """The score of a model for a weight of energy from 0 to 1."""
    if scaling == "log":
        span = math.log(energies.largest_joules / energies.least_joules)
        position = math.log(joules_per_image / energies.least_joules)
        energy_term = 100 * position / span if span else 0.0
    else:
        energy_term = joules_per_image / energies.largest_joules
        if scaling == "equal":
            energy_term *= 100
    return 100 - (energy_weight * energy_term + (1 - energy_weight) * (100 - accuracy_pct))


def rank_by_score(
    results: Sequence[ModelResult],
    energy_weight: float,
    energies: EnergyRange,
    scaling: Scaling = "equal",
    sets: Sequence[str] = IMAGENET,
) -> tuple[Score, ...]:
    """The models whose accuracy is known, best score first."""
    scores = [
        Score(
            compute_score(
                result.best.joules_per_image, accuracy_pct, energy_weight, energies, scaling
            ),
            result,
        )
        for result in results
        if (accuracy_pct := mean_accuracy_pct(result, sets)) is not None
    ]
    return tuple(sorted(scores, key=lambda score: -score.score))


def rank_by_accuracy_per_joule(
    results: Sequence[ModelResult], least_accuracy_pct: float, sets: Sequence[str] = IMAGENET
) -> tuple[Score, ...]:
    """Accuracy in % over J per image of the models with at least `least_accuracy_pct`, highest
    first."""
    scores = [
        Score(accuracy_pct / result.best.joules_per_image, result)
        for result in results
        if (accuracy_pct := mean_accuracy_pct(result, sets)) is not None
        and accuracy_pct >= least_accuracy_pct
    ]
    return tuple(sorted(scores, key=lambda score: -score.score))
