"""Intervals within one run, autocorrelation and drift of its epochs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence

from rules.bundle import Bundle
from rules.metrics.figures import Estimate, estimate_mean, student_t95
from rules.metrics.uncertainty.within_run import (
    compute_autocorrelation,
    describe_epochs,
    describe_node_epochs,
    fit_drift,
    shrink_autocorrelation,
    widen_interval,
)
from rules.testing.node_power import add_node_power

RUNS = 1000
"""Simulated runs of ten epochs per autocorrelation. The standard error of a coverage of 95 % is
0.7 points."""


def simulate_runs(autocorrelation: float, seed: int = 7) -> Iterator[list[float]]:
    """Ten epochs each of `RUNS` runs, an AR(1) process with mean 100 and standard deviation 1."""
    noise = np.random.default_rng(seed).standard_normal((RUNS, 10))
    values = noise.copy()
    for epoch in range(1, 10):
        values[:, epoch] = (
            autocorrelation * values[:, epoch - 1]
            + math.sqrt(1 - autocorrelation**2) * noise[:, epoch]
        )
    yield from (100 + values).tolist()


def widen(estimate: Estimate, values: Sequence[float]) -> Estimate:
    """The estimate with the interval that follows from the autocorrelation of its values."""
    autocorrelation = shrink_autocorrelation(compute_autocorrelation(values), len(values))
    return widen_interval(estimate, autocorrelation)


def holds(estimate: Estimate, mean: float) -> bool:
    assert estimate.ci95 is not None
    return estimate.ci95[0] <= mean <= estimate.ci95[1]


@pytest.mark.parametrize(
    ("autocorrelation", "least", "independent_at_most"),
    [(-0.55, 0.99, 1.0), (0.0, 0.96, 0.97), (0.3, 0.93, 0.89), (0.6, 0.89, 0.73)],
)
def test_interval_within_a_run_covers_the_mean_of_autocorrelated_epochs(
    autocorrelation: float, least: float, independent_at_most: float
) -> None:
    covered = covered_if_independent = 0
    for values in simulate_runs(autocorrelation):
        estimate = estimate_mean(values)
        covered += holds(widen(estimate, values), 100)
        covered_if_independent += holds(estimate, 100)
    assert covered / RUNS >= least
    assert covered_if_independent / RUNS <= independent_at_most


def test_interval_of_ten_epochs_with_an_autocorrelation_of_one_half() -> None:
    # v = 2.600 leaves 2.846 degrees of freedom with a quantile of 3.304. The standard error grows
    # by sqrt(2.600 x 9 / 7.400) = 1.778, and the quantile by 3.304 / 2.262.
    widened = widen_interval(Estimate(100.0, 10, 1.0, (99.0, 101.0)), 0.5)
    assert widened.half_width == pytest.approx(2.5974, abs=0.0001)


def test_interval_is_never_narrower_than_that_of_independent_epochs() -> None:
    for values in simulate_runs(-0.55):
        estimate = estimate_mean(values)
        assert widen(estimate, values).half_width >= estimate.half_width * (1 - 1e-12)


def test_autocorrelation_is_corrected_for_its_bias_and_bounded() -> None:
    alternating = [1.0, -1.0] * 5
    assert compute_autocorrelation(alternating) == pytest.approx(-0.9)
    assert shrink_autocorrelation(-0.9, 10) == 0
    # (10 x 0.2 + 1) / 6 = 0.5, and the mean of 0.5 and the prior of 0.4 is 0.45.
    assert shrink_autocorrelation(0.2, 10) == pytest.approx(0.45)
    assert shrink_autocorrelation(0.9, 10) == 0.7
    assert compute_autocorrelation([3.0] * 10) is None
    assert compute_autocorrelation([1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("values", [[5.0], [5.0, 6.0], [5.0, 6.0, 7.0], [5.0] * 10])
def test_short_and_constant_runs_have_finite_intervals(values: Sequence[float]) -> None:
    estimate = estimate_mean(values)
    widened = widen(estimate, values)
    assert (widened.ci95 is None) == (len(values) == 1)
    assert estimate.half_width <= widened.half_width < math.inf


def test_drift_is_the_change_over_the_run_with_the_interval_of_its_slope() -> None:
    drift = fit_drift([99.0, 99.5, 100.0, 100.5, 101.0])
    assert drift is not None
    assert (drift.percent, drift.half_width_percent) == (pytest.approx(2), pytest.approx(0))
    assert drift.least_percent == pytest.approx(2)
    # Residuals 1, -2, 1 around a level line: variance 6 / (3 - 2) / 2 of the slope, t = 12.706.
    drift = fit_drift([101.0, 98.0, 101.0])
    assert drift is not None
    assert (drift.percent, drift.least_percent) == (pytest.approx(0), 0)
    assert drift.half_width_percent == pytest.approx(2 * 12.706 * math.sqrt(6 / 1 / 2))
    assert fit_drift([1.0, 2.0]) is None


def test_drift_of_runs_without_drift_lies_in_its_interval() -> None:
    least = [drift.least_percent for v in simulate_runs(0.0) if (drift := fit_drift(v))]
    assert 0.93 < sum(value == 0 for value in least) / RUNS < 0.97


def test_quantile_between_two_degrees_of_freedom() -> None:
    assert student_t95(9) == 2.262
    assert student_t95(2.5) == pytest.approx(3.629, abs=0.06)
    assert (student_t95(15), student_t95(15.5), student_t95(400)) == (
        2.131,
        pytest.approx(2.126, abs=0.002),
        pytest.approx(1.966, abs=0.001),
    )


def test_run_has_intervals_autocorrelation_and_drift() -> None:
    figures = Bundle(Path("a/b/c"), (), copy_evidence().evidence()).figures
    assert figures is not None
    within = describe_epochs(figures)
    stated = figures.headline.items_per_s
    assert (within.headline.items_per_s.mean, within.headline.items_per_s.sd) == (
        stated.mean,
        stated.sd,
    )
    assert within.headline.items_per_s.half_width >= stated.half_width
    assert within.items_per_s.drift is not None
    assert within.joules_per_item is not None


def test_nodes_of_a_run_have_intervals_with_autocorrelation_and_a_drift() -> None:
    evidence = copy_evidence()
    add_node_power(evidence)
    bundle = Bundle(Path("a/b/c"), (), evidence.evidence())
    figures, node_figures = bundle.figures, bundle.node_figures
    assert figures is not None and node_figures is not None
    within = describe_node_epochs(figures, node_figures)
    joules = [node_figures.epochs[epoch.epoch].joules_per_item for epoch in figures.scored_epochs]
    values = [value for value in joules if value is not None]
    assert within.joules_per_item is not None and len(values) == 10
    assert within.joules_per_item.autocorrelation == compute_autocorrelation(values)
    assert within.joules_per_item.drift == fit_drift(values)
    autocorrelation = max(
        shrink_autocorrelation(series.autocorrelation, 10)
        for series in (within.joules_per_item, describe_epochs(figures).items_per_s)
    )
    stated = node_figures.headline
    assert within.headline.mean_power_w == widen_interval(stated.mean_power_w, autocorrelation)
    for name in ("joules_per_item", "items_per_joule", "over_accelerators"):
        estimate = getattr(stated, name)
        assert getattr(within.headline, name) == widen_interval(estimate, autocorrelation)


def test_nodes_without_figures_by_epoch_keep_those_of_the_run() -> None:
    evidence = copy_evidence()
    add_node_power(evidence)
    bundle = Bundle(Path("a/b/c"), (), evidence.evidence())
    assert bundle.figures is not None and bundle.node_figures is not None
    headline = replace(bundle.node_figures.headline, by_epoch=False)
    node_figures = replace(bundle.node_figures, headline=headline, epochs={})
    within = describe_node_epochs(bundle.figures, node_figures)
    assert (within.headline, within.joules_per_item) == (headline, None)
