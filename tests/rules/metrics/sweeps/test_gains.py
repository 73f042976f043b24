"""Energy gain, extra time, EDP and EDS against the reference, their intervals, and the best
settings: what must hold for any sweep. The golden values are in test_published_gains.py."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.rules.sweep_points import positive_floats

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Headline, estimate_ratio
from rules.metrics.sweeps.best_settings import Metric, find_best_settings, list_metrics
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point, combine
from rules.metrics.sweeps.scaling import compute_scaling
from rules.metrics.uncertainty.propagation import (
    Spread,
    estimate_spread_within_run,
    excludes,
    pool_runs,
)

points = st.builds(Point, positive_floats, positive_floats, positive_floats, st.just(True))


# A point against the reference


@example(Point(300, 80, 4.0, True), Point(700, 100, 8.0, True), 1.5)  # half of the energy
@given(points, points, st.floats(1.001, 100))
def test_gains_are_their_formulas(point: Point, ref: Point, k: float) -> None:
    """By the shares of energy and time. So other units change none of them."""
    energy = point.joules_per_item / ref.joules_per_item
    time = ref.items_per_s / point.items_per_s
    comparison = compare(point, ref, eds_k=[k, 2.0])
    gain, extra = 100 * (1 - energy), 100 * (time - 1)
    eds_gains = {k: 100 * (1 - (k - 1) / k * energy - time / k), 2.0: (gain - extra) / 2}
    for figure, expected in (
        (comparison.energy_gain_percent, gain),
        (comparison.extra_time_percent, extra),
        (comparison.gain_minus_extra_time_points, gain - extra),
        (comparison.edp_gain_percent, 100 * (1 - energy * time)),
        *((comparison.eds_gain_percent[k], expected) for k, expected in eds_gains.items()),
    ):
        # A share near zero is a difference of ratios near one.
        size = 100 * (1 + energy + time + energy * time)
        assert figure.mean == pytest.approx(expected, rel=1e-9, abs=1e-12 * size)
    edp_js = point.joules_per_item / point.items_per_s
    assert comparison.edp_js.mean == pytest.approx(edp_js, rel=1e-9)


@given(points)
def test_reference_against_itself_gains_nothing(ref: Point) -> None:
    comparison = compare(ref, ref)
    gains = [metric.select_gain(comparison).mean for metric in list_metrics()]
    assert [comparison.extra_time_percent.mean, *gains] == pytest.approx([0] * (1 + len(gains)))


@pytest.mark.parametrize("k", [1.0, 0.5, float("nan"), float("inf")])
def test_eds_of_a_ratio_that_allows_no_extra_time_is_an_error(k: float) -> None:
    with pytest.raises(MetricsError, match="ratio of time k above 1"):
        compare(Point(1, 1, 1, True), Point(2, 1, 1, True), eds_k=[k])


# Intervals

CAPS_W = (300.0, 400.0, 500.0, 600.0, 700.0)
TRUE_POINTS = [
    Point(cap_w, rate, joules, True)
    for cap_w, rate, joules in zip(
        CAPS_W, (70, 84, 93, 98, 100), (4.6, 4.55, 4.7, 4.9, 5.2), strict=True
    )
]


def simulate_repeats(
    points: Sequence[Point], repeats: int, rng: np.random.Generator
) -> list[Point]:
    """Runs whose J per item spreads by 0.5 % and whose time by 0.3 %, with a correlation of 0.7."""
    covariance = [[0.005**2, 0.7 * 0.005 * 0.003], [0.7 * 0.005 * 0.003, 0.003**2]]
    errors = rng.multivariate_normal((0, 0), covariance, size=(len(points), repeats))
    return [
        replace(
            point,
            joules_per_item=point.joules_per_item * (1 + energy),
            items_per_s=point.items_per_s / (1 + time),
        )
        for point, point_errors in zip(points, errors.tolist(), strict=True)
        for energy, time in point_errors
    ]


def test_intervals_over_repeats_contain_the_true_gain_in_95_of_100_sweeps() -> None:
    rng = np.random.default_rng(16)
    true_gains = compare(TRUE_POINTS[1], TRUE_POINTS[-1])
    hits = dict.fromkeys(list_metrics(), 0)
    sweeps_count = 1000
    for _ in range(sweeps_count):
        points = combine(simulate_repeats(TRUE_POINTS, 3, rng))
        comparison = compare(points[1], points[-1])
        for metric in hits:
            low, high = metric.select_gain(comparison).ci95 or (0.0, 0.0)
            hits[metric] += low <= metric.select_gain(true_gains).mean <= high
    # Four standard errors of a share of 95 % of 1 000.
    assert all(abs(count / sweeps_count - 0.95) < 0.028 for count in hits.values()), hits


@pytest.mark.parametrize("degrees", [(4, 9), (9, 4)])
def test_intervals_by_hand_have_the_fewest_degrees_of_freedom(degrees: tuple[int, int]) -> None:
    """Fieller's interval from the definition: the ratios at which a t test rejects nothing. That of
    a sum is by first-order propagation."""
    t, ratio = 2.776, 700 / 400  # with 4 degrees of freedom
    energy, time = [], []
    for cap_w, error, count in zip((400, 700), (0.03, 0.02), degrees, strict=True):
        point = Point(cap_w, cap_w / 100, 100 / cap_w, True)
        energy.append(replace(point, spread=Spread(error**2, 0.0, 0.0, count, "runs")))
        time.append(replace(point, spread=Spread(0.0, error**2, 0.0, count, "runs")))
    gain = compare(*energy).energy_gain_percent
    extra = compare(*time).extra_time_percent
    assert (gain.n, extra.n) == (5, 5)
    ends = [1 - end / 100 for end in gain.ci95 or ()], [1 + end / 100 for end in extra.ci95 or ()]
    for end in (*ends[0], *ends[1]):
        assert abs(ratio - end) == pytest.approx(t * math.hypot(0.03 * ratio, end * 0.02))
    both = compare(*energy).gain_minus_extra_time_points
    assert both.n == 5
    assert both.half_width == pytest.approx(100 * t * ratio * math.hypot(0.03, 0.02))
    alone = compare(energy[0], replace(energy[1], spread=None))
    assert (alone.energy_gain_percent.ci95, alone.gain_minus_extra_time_points.ci95) == (None, None)


def test_interval_contains_its_ends() -> None:
    assert [excludes((1.0, 2.0), value) for value in (0.9, 1.0, 2.0, 2.1)] == [1, 0, 0, 1]
    assert excludes(None, 1.0) is None


def test_edp_spreads_with_energy_and_time() -> None:
    point = Point(400, 2.0, 3.0, True, spread=Spread(0.03**2, 0.04**2, 0.0, 4, "runs"))
    edp_js = compare(point, replace(point, cap_w=700)).edp_js
    assert edp_js.mean == 1.5
    assert edp_js.half_width == pytest.approx(2.776 * 1.5 * 0.05, rel=1e-3)


def test_reference_against_itself_has_no_interval() -> None:
    reference = Point(700, 1, 1.0, True, spread=Spread(1e-4, 1e-4, 0.0, 9, "epochs"))
    comparison = compare(reference, reference)
    assert {metric.select_gain(comparison).ci95 for metric in list_metrics()} == {None}
    assert comparison.extra_time_percent.ci95 is None and comparison.basis is None


def test_gain_over_a_reference_that_is_not_told_from_zero_has_no_interval() -> None:
    point, reference = (
        Point(cap_w, 1, 1.0, True, spread=Spread(0.5**2, 0.0, 0.0, 4, "runs")) for cap_w in (1, 2)
    )
    assert compare(point, reference).energy_gain_percent.ci95 is None


def test_interval_of_edp_contains_that_energy_and_time_depend_on_each_other() -> None:
    """A slow run takes more energy: their product spreads more than two independent factors."""

    def find_width(covariance: float) -> float:
        spread = Spread(1e-6, 1e-6, covariance, 9, "epochs")
        points = (Point(cap_w, 1, 1.0 + cap_w, True, spread=spread) for cap_w in (1, 2))
        return compare(*points).edp_gain_percent.half_width

    assert find_width(1e-6) == pytest.approx(find_width(0) * math.sqrt(2), rel=1e-3)
    assert find_width(-1e-6) == pytest.approx(0, abs=1e-9)


def test_spread_within_a_run_finds_the_covariance_of_its_epochs() -> None:
    rng = np.random.default_rng(3)
    items = rng.normal(1000, 4, 10)
    seconds = rng.normal(30, 0.1, 10)
    joules = 200 * seconds + rng.normal(0, 12, 10)
    items_per_s = estimate_ratio(items.tolist(), seconds.tolist())
    headline = Headline(
        items_per_s_per_accelerator=items_per_s,
        items_per_s=items_per_s,
        joules_per_item=estimate_ratio(joules.tolist(), items.tolist()),
        items_per_joule=None,
        mean_power_w_per_accelerator=estimate_ratio(joules.tolist(), seconds.tolist()),
        energy_j_counter=None,
        energy_j_trapezoid=items_per_s,
        mfu=None,
    )
    spread = estimate_spread_within_run(headline)
    assert spread is not None and (spread.degrees, spread.basis) == (9, "epochs")
    # The residuals of both ratios, as multiples of the ratios.
    energy = joules / joules.mean() - items / items.mean()
    time = seconds / seconds.mean() - items / items.mean()
    assert spread.covariance == pytest.approx(float(energy @ time) / 9 / 10)
    assert spread.energy_variance == pytest.approx(float(energy @ energy) / 9 / 10)


def test_spread_between_runs_is_pooled_over_the_sweep_and_serves_single_runs() -> None:
    within = Spread(1e-8, 1e-8, 0.0, 9, "epochs")
    runs = [
        Point(300, 99, 4.0, True, spread=within),
        Point(300, 101, 4.0, True, spread=within),
        Point(700, 100, 5.1, True, spread=within),
        Point(700, 100, 4.9, True, spread=within),
        Point(500, 100, 4.5, True, spread=within),
    ]
    spreads = [point.spread for point in combine(runs)]
    # Two deviations of 2 % of energy and two of 1 % of time, with two degrees of freedom.
    energy, time = 2 * 0.02**2 / 2, 2 * 0.01**2 / 2
    assert [s and (s.degrees, s.basis) for s in spreads] == [(2, "runs")] * 3
    variances = [(s.energy_variance, s.time_variance) for s in spreads if s]
    assert variances == [pytest.approx((energy / n, time / n)) for n in (2, 1, 2)]
    assert [point.spread for point in combine(runs[1::2])] == [within, within]


def test_covariance_between_runs_is_divided_by_the_runs_of_a_setting() -> None:
    # Energy and time of the first setting deviate by 1 % together.
    settings = [[(4.04, 99.0), (3.96, 101.0)], [(5.0, 100.0)]]
    covariances = [spread.covariance for spread in pool_runs(settings) or ()]
    assert covariances == pytest.approx([2 * 0.01**2 / 2, 2 * 0.01**2])


def test_mean_of_times_differs_from_the_time_of_the_mean_rate_by_the_squared_spread() -> None:
    rates = np.random.default_rng(2).normal(100, 1, 100_000)
    mean_time, time_of_mean = (1 / rates).mean(), 1 / rates.mean()
    assert mean_time / time_of_mean - 1 == pytest.approx(0.01**2, rel=0.05)


def test_scaling_has_intervals_of_two_independent_runs() -> None:
    spread = Spread(0.01**2, 0.02**2, 0.0, 9, "epochs")
    single, several = (Point(700, n, 1.0, True, spread=spread) for n in (1, 4))
    scaling = compute_scaling(several, 4, single)
    for figure, error in ((scaling.speed_up, 0.02), (scaling.energy_per_item_ratio, 0.01)):
        relative_half_width = 2.262 * error * math.sqrt(2)
        assert figure.half_width / figure.mean == pytest.approx(relative_half_width, rel=0.01)
    ends = [end / 4 * 100 for end in scaling.speed_up.ci95 or ()]
    assert list(scaling.efficiency_percent.ci95 or ()) == pytest.approx(ends)


# The best setting by each metric


def test_best_setting_of_equals_is_at_the_lower_cap() -> None:
    points = [Point(cap_w, 1, joules, True) for cap_w, joules in ((1, 2), (2, 1), (3, 1), (4, 2))]
    for best in find_best_settings(points, points[-1]):
        assert (best.point.cap_w, best.not_told_apart) == (2, None)


@pytest.mark.parametrize(
    ("error", "caps_w"), [(1e-5, [400]), (6e-3, [300, 400]), (0.1, list(CAPS_W))]
)
def test_settings_that_are_not_told_from_the_best(error: float, caps_w: list[float]) -> None:
    spread = Spread(error**2, error**2, 0.0, 10, "runs")
    points = [replace(point, spread=spread) for point in TRUE_POINTS]
    energy = find_best_settings(points, points[-1])[0]
    assert energy.point.cap_w == 400
    assert [p.cap_w for p in energy.not_told_apart or ()] == caps_w


@pytest.mark.parametrize("error", [0.001, 0.01, 0.02, 0.03, 0.1])
def test_where_the_reference_is_best_the_gains_tell_what_is_told_from_it(error: float) -> None:
    spread = Spread(error**2, error**2, 0.0, 9, "epochs")
    points = [Point(400, 94, 4.9, True, spread=spread), Point(700, 100, 4.8, True, spread=spread)]
    comparison = compare(*points)
    for best in find_best_settings(points, points[-1]):
        low, high = best.metric.select_gain(comparison).ci95 or (0.0, 0.0)
        assert best.point is points[-1]
        assert (points[0] in (best.not_told_apart or ())) is (low <= 0 <= high)


@pytest.mark.parametrize(("error", "is_apart"), [(0.3, True), (0.6, False)])
def test_uncertain_reference_scales_the_difference_of_two_settings(
    error: float, is_apart: bool
) -> None:
    """With exact settings, the difference is told from zero where the reference is: t x 30 % or
    60 %, with t = 2.262."""
    exact, uncertain = (Spread(e**2, e**2, 0.0, 9, "epochs") for e in (0.0, error))
    points = [
        Point(300, 100, 3.0, True, spread=exact),
        Point(400, 100, 3.3, True, spread=exact),
        Point(700, 100, 5.0, True, spread=replace(uncertain, time_variance=0.0)),
    ]
    by_metric = {best.metric: best for best in find_best_settings(points, points[-1])}
    for metric in (Metric("gain minus extra time"), Metric("EDS", 2.0)):
        assert (points[1] not in (by_metric[metric].not_told_apart or ())) is is_apart


def test_settings_of_one_true_gain_are_told_apart_in_5_of_100_sweeps() -> None:
    """Two settings with the same energy and time: the difference by every metric is zero."""
    rng = np.random.default_rng(17)
    truth = [Point(400, 97, 4.2, True), Point(450, 97, 4.2, True), TRUE_POINTS[-1]]
    sweeps_count = 600
    apart = dict.fromkeys(list_metrics(), 0)
    for _ in range(sweeps_count):
        points = combine(simulate_repeats(truth, 4, rng))
        for best in find_best_settings(points, points[-1]):
            apart[best.metric] += len(best.not_told_apart or ()) == 1
    assert all(abs(count / sweeps_count - 0.05) < 0.036 for count in apart.values()), apart
