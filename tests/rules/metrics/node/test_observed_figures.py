"""The power of an observed job by its readings: exact on power whose energy is known."""

import numpy as np
import pytest

from rules.metrics.energy import MetricsError
from rules.metrics.node.observed import FeedReadings, compute_observed_figures

ZERO_NS = 1_700_000_000 * 10**9


def make_feed(times_s: list[float], power_w: list[float], is_mean: bool = False) -> FeedReadings:
    times_ns = ZERO_NS + np.round(np.array(times_s) * 1e9).astype(np.int64)
    return FeedReadings(times_ns, np.array(power_w), is_mean)


def at(seconds: float) -> int:
    return ZERO_NS + round(seconds * 1e9)


def test_instants_are_joined_by_straight_lines() -> None:
    ramp = make_feed([0, 10, 40, 100], [0, 100, 400, 1000])
    figures = compute_observed_figures([ramp], at(5.5), at(85.5), None)
    assert figures.energy_j == pytest.approx((85.5**2 - 5.5**2) * 5)
    assert figures.mean_w == pytest.approx(455)
    assert figures.max_60s_w == pytest.approx(555)
    assert figures.max_w == pytest.approx(850)
    assert figures.joules_per_item is None


def test_means_hold_in_the_interval_before() -> None:
    feed = make_feed([0, 10, 20, 30], [999, 100, 300, 100], is_mean=True)
    figures = compute_observed_figures([feed], at(5), at(25), 10)
    assert figures.energy_j == pytest.approx(5 * 100 + 10 * 300 + 5 * 100)
    assert figures.joules_per_item == pytest.approx(400)
    assert (figures.max_60s_w, figures.p99_60s_w) == (None, None), "the window is shorter"


def test_feeds_with_times_of_their_own_add_up() -> None:
    feeds = [
        make_feed([0, 50, 100], [200, 200, 200]),
        make_feed([-3, 33, 120], [100, 100, 100]),
    ]
    figures = compute_observed_figures(feeds, at(0), at(100), None)
    assert figures.mean_w == pytest.approx(300) and figures.median_w == pytest.approx(300)


@pytest.mark.parametrize(
    ("times_s", "start_s", "end_s"),
    [([0, 100], -1, 50), ([0, 100], 50, 101), ([0, 100], 10, 10.5), ([0, 0], 0, 0), ([5], 0, 9)],
)
def test_windows_that_readings_do_not_cover_have_no_figures(
    times_s: list[float], start_s: float, end_s: float
) -> None:
    feed = make_feed(times_s, [100.0] * len(times_s))
    with pytest.raises(MetricsError):
        compute_observed_figures([feed], at(start_s), at(end_s), None)


def test_gaps_are_long_steps_and_what_lies_outside() -> None:
    times_s = [*range(0, 50), *range(80, 121)]
    feed = make_feed([float(t) for t in times_s], [100.0] * len(times_s))
    assert feed.measure_gap_s(at(10), at(110)) == pytest.approx(31)
    assert feed.measure_gap_s(at(60), at(110)) == pytest.approx(20)
    assert feed.measure_gap_s(at(-10), at(20)) == pytest.approx(10)
    assert feed.measure_gap_s(at(100), at(130)) == pytest.approx(10)
    assert feed.measure_gap_s(at(200), at(230)) == pytest.approx(30)
