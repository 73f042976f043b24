"""Correlations and their intervals."""

import numpy as np
import pytest
from support.rules.model_results import make_result

from rules.studies.metrics.correlations import correlate, correlate_with_size, rank


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert rank(np.array([5.0, 1.0, 5.0, 3.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_coefficients_are_those_of_values_logarithms_and_ranks() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 3.0])
    y = x**2 * np.array([1.0, 1.1, 0.9, 1.0, 1.2, 0.2])
    correlation = correlate(x, y)
    assert correlation is not None
    assert correlation.n == 6
    assert correlation.pearson.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert correlation.log_pearson.value == pytest.approx(np.corrcoef(np.log(x), np.log(y))[0, 1])
    # Ranks 1 2 4 5 6 3 and 1 3 4 5 6 2: 1 - 6 x 2 / (6 x 35).
    rho = 1 - 12 / 210
    assert correlation.spearman.value == pytest.approx(rho)
    half_width = 2.571 * np.sqrt((1 + rho**2 / 2) / 3)
    expected = np.tanh([np.arctanh(rho) - half_width, np.arctanh(rho) + half_width])
    assert correlation.spearman.ci95 == pytest.approx(expected.tolist())


def test_interval_is_the_jackknife_of_fisher_z() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    x = np.exp(random.normal(size=12))
    y = x * np.exp(random.normal(size=12) / 2)
    without_each = [np.delete(np.arange(12), i) for i in range(12)]
    z = np.arctanh([np.corrcoef(x[rows], y[rows])[0, 1] for rows in without_each])
    error = np.sqrt(11 / 12 * ((z - z.mean()) ** 2).sum())
    full = np.arctanh(np.corrcoef(x, y)[0, 1])
    correlation = correlate(x, y)
    assert correlation is not None
    expected = np.tanh([full - 2.201 * error, full + 2.201 * error])
    assert correlation.pearson.ci95 == pytest.approx(expected.tolist())


def test_intervals_hold_the_true_coefficient_about_19_times_in_20() -> None:
    random = np.random.Generator(np.random.PCG64(5))
    hits = 0
    for _ in range(300):
        x, noise = random.normal(size=(2, 60))
        correlation = correlate(np.exp(x), np.exp(0.8 * x + 0.6 * noise))
        assert correlation is not None and correlation.log_pearson.ci95 is not None
        low, high = correlation.log_pearson.ci95
        hits += low < 0.8 < high
    assert 270 <= hits <= 297


def test_perfect_correlation_has_no_interval() -> None:
    correlation = correlate(np.arange(1.0, 9.0), 2 * np.arange(1.0, 9.0))
    assert correlation is not None
    assert correlation.pearson.value == pytest.approx(1)
    assert correlation.pearson.ci95 is None
    assert correlation.spearman.ci95 is None


def test_few_or_equal_values_have_no_correlation() -> None:
    assert correlate(np.arange(1.0, 4.0), np.arange(1.0, 4.0)) is None
    assert correlate(np.ones(9), np.arange(1.0, 10.0)) is None


def test_models_of_unknown_size_are_left_out() -> None:
    results = [
        make_result(f"model{i}", joules, flops=flops)
        for i, (joules, flops) in enumerate([(1, 3), (2, 5), (3, None), (4, 9), (5, 8), (6, 0)])
    ]
    correlation = correlate_with_size(results, "flops")
    assert correlation is not None
    assert correlation.n == 4
    assert correlate_with_size(results, "params") is None
