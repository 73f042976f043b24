"""Energy and time of trainings to a target."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rules.declarations.run import StatedEpoch
from rules.metrics.figures import Estimate, RunFigures, estimate_product, estimate_ratio

MAX_ROUNDING = 1e-6
"""Of an accuracy that was computed in single precision."""


@dataclass(frozen=True)
class TargetFigures:
    """What a training to the target takes, over the trainings of the scored epochs. Intervals are
    those over epochs, whose trainings have seeds of their own."""

    trainings: int
    median_steps: float
    min_steps: int
    max_steps: int
    seconds: Estimate
    """Of one accelerator."""
    energy_j: Estimate
    edp_js: Estimate
    """Energy times time."""


def compute_target_figures(
    figures: RunFigures, stated: Sequence[StatedEpoch]
) -> TargetFigures | None:
    """The figures of a run with a target. None where no scored epoch states a training, or one has
    no items."""
    scored = figures.scored_epochs
    numbers = {epoch.epoch for epoch in scored}
    steps = [t.steps for e in stated if e.epoch in numbers for t in e.trainings or ()]
    items = [float(epoch.items) for epoch in scored]
    if not steps or not all(items):
        return None
    seconds = [epoch.active_s * len(epoch.accelerators) for epoch in scored]
    energies_j = [
        epoch.mean_power_w_per_accelerator * time_s
        for epoch, time_s in zip(scored, seconds, strict=True)
    ]
    return TargetFigures(
        trainings=sum(epoch.items for epoch in scored),
        median_steps=median(steps),
        min_steps=min(steps),
        max_steps=max(steps),
        seconds=estimate_ratio(seconds, items),
        energy_j=estimate_ratio(energies_j, items),
        edp_js=estimate_product(energies_j, seconds, items),
    )
