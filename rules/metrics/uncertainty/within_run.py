"""What the scored epochs of one run tell about its figures: intervals within the run,
autocorrelation and drift.

Epochs follow each other on one board, so they are no independent repeats. An interval within a run
tells how well the run knows its own mean. It does not tell what another run or another board gives:
see `rules.metrics.uncertainty.repeats`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rules.metrics.figures import (
    FIGURES,
    EpochFigures,
    Estimate,
    Headline,
    RunFigures,
    student_t95,
)
from rules.metrics.node.figures import NodeFigures, NodeHeadline

PRIOR_AUTOCORRELATION = 0.4
"""The estimate is the mean of this value and of the one that the run shows. Ten epochs alone leave
a standard error of 0.5."""
MAX_AUTOCORRELATION = 0.7
MIN_EPOCHS = 6
"""With fewer epochs, a run shows no autocorrelation, and the prior alone counts."""
MIN_DEGREES_OF_FREEDOM = 2.0


@dataclass(frozen=True)
class Drift:
    """The least-squares line through the values of the epochs, in percent of their mean."""

    percent: float
    """Change from the first to the last scored epoch."""
    half_width_percent: float
    """Half of its 95 % interval by Student's t with n - 2 degrees of freedom."""

    def __str__(self) -> str:
        return f"{self.percent:+.2f} \u00b1 {self.half_width_percent:.2f} %"

    @property
    def least_percent(self) -> float:
        """The end of the interval that is nearer to zero, as a size; 0 if the interval holds
        zero."""
        return max(abs(self.percent) - self.half_width_percent, 0.0)


@dataclass(frozen=True)
class EpochSeries:
    """How one figure behaves over the scored epochs of a run."""

    autocorrelation: float | None
    """Lag-one autocorrelation as the epochs show it; None for fewer than `MIN_EPOCHS`, or without
    any variation."""
    drift: Drift | None
    """None for fewer than three epochs."""


@dataclass(frozen=True)
class WithinRun:
    """The headline with intervals within the run, and how the epochs vary."""

    headline: Headline
    items_per_s: EpochSeries
    """Of the throughput per accelerator."""
    joules_per_item: EpochSeries | None
    """None where an epoch has no items."""


def describe_epochs(figures: RunFigures) -> WithinRun:
    """Intervals within the run, autocorrelation and drift of a run. Fewer than two scored epochs
    tell nothing."""
    epochs = figures.scored_epochs
    if len(epochs) < 2:
        return WithinRun(figures.headline, EpochSeries(None, None), None)
    rates = _list_values(epochs, "items_per_s_per_accelerator")
    joules = _list_values(epochs, "joules_per_item")
    items_per_s = _describe_series(rates)
    joules_per_item = _describe_series(joules) if len(joules) == len(epochs) else None
    autocorrelation = _choose_autocorrelation((items_per_s, joules_per_item), len(epochs))
    estimates: dict[str, Any] = {}
    for name in FIGURES:
        estimate = getattr(figures.headline, name)
        estimates[name] = estimate and widen_interval(estimate, autocorrelation)
    return WithinRun(Headline(**estimates), items_per_s, joules_per_item)


@dataclass(frozen=True)
class NodesWithinRun:
    """What node meters measured in a run with intervals within the run, and how the epochs vary."""

    headline: NodeHeadline
    joules_per_item: EpochSeries | None
    """Of the energy of the nodes per item; None without figures by epoch, or where an epoch has no
    items."""


def describe_node_epochs(figures: RunFigures, node_figures: NodeFigures) -> NodesWithinRun:
    """The same as `describe_epochs` for the nodes of a run. `figures` are those of its
    accelerators, whose throughput is also that of the nodes."""
    headline, epochs = node_figures.headline, figures.scored_epochs
    if not headline.by_epoch or len(epochs) < 2:
        return NodesWithinRun(headline, None)
    joules = [node_figures.epochs[epoch.epoch].joules_per_item for epoch in epochs]
    values = [value for value in joules if value is not None]
    joules_per_item = _describe_series(values) if len(values) == len(epochs) else None
    items_per_s = _describe_series(_list_values(epochs, "items_per_s_per_accelerator"))
    autocorrelation = _choose_autocorrelation((items_per_s, joules_per_item), len(epochs))

    def widen(estimate: Estimate | None) -> Estimate | None:
        return estimate and widen_interval(estimate, autocorrelation)

    widened = replace(
        headline,
        joules_per_item=widen(headline.joules_per_item),
        items_per_joule=widen(headline.items_per_joule),
        mean_power_w=widen_interval(headline.mean_power_w, autocorrelation),
        over_accelerators=widen(headline.over_accelerators),
    )
    return NodesWithinRun(widened, joules_per_item)


def _choose_autocorrelation(series: Sequence[EpochSeries | None], n: int) -> float:
    """The largest autocorrelation of the figures of a run over n epochs. It holds for all of them:
    energy, time and power of a run depend on each other."""
    return max(
        shrink_autocorrelation(figure.autocorrelation, n) for figure in series if figure is not None
    )


def _list_values(epochs: Sequence[EpochFigures], name: str) -> list[float]:
    values = [getattr(epoch, name) for epoch in epochs]
    return [value for value in values if value is not None]


def _describe_series(values: Sequence[float]) -> EpochSeries:
    return EpochSeries(compute_autocorrelation(values), fit_drift(values))


def compute_autocorrelation(values: Sequence[float]) -> float | None:
    """Lag-one autocorrelation of the values of n epochs, shape (n,); None for fewer than
    `MIN_EPOCHS` or without any variation. Source: Box, Jenkins, Time Series Analysis, section
    2.1.5."""
    residuals = np.asarray(values) - math.fsum(values) / len(values)
    total = float(residuals @ residuals)
    if len(values) < MIN_EPOCHS or not total > 0:
        return None
    return float(residuals[1:] @ residuals[:-1]) / total


def shrink_autocorrelation(autocorrelation: float | None, n: int) -> float:
    """The autocorrelation that the interval of a mean over n epochs takes into account, from 0 to
    `MAX_AUTOCORRELATION`.

    The value that the epochs show is too low by (1 + 4 rho) / n on average and is corrected
    (Marriott and Pope 1954, Biometrika 41, 390). Because it is uncertain, the mean with
    `PRIOR_AUTOCORRELATION` counts. A negative result counts as 0, so that no interval is narrower
    than that of independent epochs.
    """
    if autocorrelation is None:
        return PRIOR_AUTOCORRELATION
    corrected = (n * autocorrelation + 1) / (n - 4)
    return min(max((corrected + PRIOR_AUTOCORRELATION) / 2, 0.0), MAX_AUTOCORRELATION)


def widen_interval(estimate: Estimate, autocorrelation: float) -> Estimate:
    """The estimate over n epochs with a 95 % interval that takes their autocorrelation, from 0 to
    below 1, into account; unchanged without an interval.

    The epochs are taken to follow an AR(1) process with autocorrelation r. With the variance
    inflation v = 1 + 2 sum (1 - k/n) r^k over k = 1 ... n - 1, the mean is worth n / v independent
    epochs, and the standard deviation of the epochs is too low by sqrt((n - v) / (n - 1)).
    docs/measurement.md has the coverage of the interval.
    """
    n, r = estimate.n, autocorrelation
    if estimate.ci95 is None:
        return estimate
    inflation = 1 + 2 * math.fsum((1 - k / n) * r**k for k in range(1, n))
    degrees = max(n / inflation - 1, min(MIN_DEGREES_OF_FREEDOM, n - 1))
    factor = math.sqrt(inflation * (n - 1) / (n - inflation))
    half_width = factor * student_t95(degrees) / student_t95(n - 1) * estimate.half_width
    return replace(estimate, ci95=(estimate.mean - half_width, estimate.mean + half_width))


def fit_drift(values: Sequence[float]) -> Drift | None:
    """The drift of the values of n epochs, shape (n,); None for fewer than three epochs or a mean
    of zero."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 3 or not mean > 0:
        return None
    epochs = np.arange(n) - (n - 1) / 2
    shares = np.asarray(values) / mean - 1
    slope = float(epochs @ shares) / float(epochs @ epochs)
    residuals = shares - slope * epochs
    variance = float(residuals @ residuals) / (n - 2) / float(epochs @ epochs)
    half_width = student_t95(n - 2) * math.sqrt(variance)
    return Drift(100 * slope * (n - 1), 100 * half_width * (n - 1))
