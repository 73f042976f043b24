"""Means, medians and bootstrap samples with their intervals."""

import numpy as np
import pytest

from rules.studies.metrics.estimates import (
    draw_resamples,
    estimate_geometric_mean,
    estimate_median,
    percentile_interval,
    student_t95,
)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.706), (9, 2.262), (15, 2.131), (16, 2.120), (30, 2.042), (120, 1.980), (10**6, 1.960)],
)
def test_quantiles_are_those_of_the_table_of_student_t(degrees: int, quantile: float) -> None:
    assert student_t95(degrees) == pytest.approx(quantile, abs=5e-4)


def test_geometric_mean_has_spread_and_interval_as_factors() -> None:
    mean = estimate_geometric_mean([1.0, 10.0, 100.0])
    assert mean is not None and mean.ci95 is not None
    assert mean.value == pytest.approx(10)
    assert mean.sd == pytest.approx(10)
    # The half width of the mean of 0, 1 and 2 is 4.303 / sqrt(3).
    assert mean.ci95 == pytest.approx((10 ** (1 - 4.303 / 3**0.5), 10 ** (1 + 4.303 / 3**0.5)))


def test_one_value_has_no_spread_and_no_value_no_mean() -> None:
    single = estimate_geometric_mean([2.0])
    assert single is not None
    assert (single.value, single.sd, single.ci95) == (pytest.approx(2), None, None)
    assert estimate_geometric_mean([]) is None
    assert estimate_median([]) is None


def test_interval_of_the_median_is_between_order_statistics() -> None:
    # Conover's example size: with n = 20 the interval is from the 5th to the 16th value.
    median = estimate_median(list(range(1, 21)))
    assert median is not None
    assert (median.value, median.ci95) == (10.5, (5.0, 16.0))
    few = estimate_median([1.0, 2.0, 9.0])
    assert few is not None
    assert (few.value, few.ci95) == (2.0, None)


def test_bootstrap_samples_are_the_same_everywhere_and_keep_groups_together() -> None:
    groups = np.array([0, 1, 2, 1, 3, 4])
    present = draw_resamples(groups)
    assert present.shape == (1000, 6)
    assert (present[:, 1] == present[:, 3]).all()
    # A group of n is in a sample with the probability 1 - (1 - 1/n)^n.
    assert present.mean() == pytest.approx(1 - 0.8**5, abs=0.02)
    # The first samples, so that another NumPy does not change intervals unnoticed.
    assert np.packbits(present[:4], axis=1).ravel().tolist() == [252, 252, 172, 116]


def test_percentile_interval_is_open_where_samples_lack_a_value() -> None:
    values = np.append(np.arange(1.0, 1000.0), np.inf)
    assert percentile_interval(values) == (25.0, 975.0)
    values[900:] = np.inf
    assert percentile_interval(values) is None
