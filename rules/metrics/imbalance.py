"""How far the accelerators of a run are apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rules.metrics.figures import AcceleratorFigures, EpochFigures


@dataclass(frozen=True)
class Imbalance:
    """Relative ranges of the accelerators' means over the scored epochs: (largest - smallest) /
    mean. None where a quantity was not read of all accelerators."""

    active_time: float | None
    """Of ranks with equal work, the one with the longest active time is the slowest."""
    mean_power: float | None
    mean_sm_clock: float | None


def compute_imbalance(epochs: Sequence[EpochFigures]) -> Imbalance | None:
    """How far the accelerators of a run are apart over its scored epochs; None where there is one
    accelerator only."""
    by_accelerator: dict[str, list[AcceleratorFigures]] = {}
    for epoch in epochs:
        for figures in epoch.accelerators if epoch.scored else ():
            by_accelerator.setdefault(figures.accelerator, []).append(figures)
    if len(by_accelerator) < 2:
        return None
    accelerators = by_accelerator.values()
    return Imbalance(
        active_time=_relative_range([[f.active_s for f in each] for each in accelerators]),
        mean_power=_relative_range([[f.mean_power_w for f in each] for each in accelerators]),
        mean_sm_clock=_relative_range([[f.mean_sm_mhz for f in each] for each in accelerators]),
    )


def _relative_range(values: Sequence[Sequence[float | None]]) -> float | None:
    """Of the means of each accelerator's values. None where one has none, or where their mean is
    0."""
    known = [[v for v in each if v is not None] for each in values]
    # An empty list: an accelerator without any value cannot be compared.
    if not all(known):
        return None
    means = [math.fsum(each) / len(each) for each in known]
    overall_mean = math.fsum(means) / len(means)
    return (max(means) - min(means)) / overall_mean if overall_mean > 0 else None
