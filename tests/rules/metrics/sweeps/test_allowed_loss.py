"""The cap of least energy within an allowed loss of throughput."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules.sweep_points import positive_floats

from rules.metrics.sweeps.allowed_loss import estimate_loss_percent, find_least_energy_within
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import Spread

points = st.builds(Point, positive_floats, positive_floats, positive_floats, st.just(True))
SPREAD = Spread(0.0, 0.01**2, 0.0, 9, "runs")

REFERENCE = Point(700, 100, 7.0, True, spread=SPREAD)
SWEEP = [
    Point(300, 70, 4.5, True, spread=SPREAD),
    Point(400, 94, 4.4, True, spread=SPREAD),
    Point(500, 99, 5.1, True, spread=SPREAD),
    REFERENCE,
]


@given(points, points)
def test_loss_is_the_share_of_throughput_that_is_missing(point: Point, reference: Point) -> None:
    loss = estimate_loss_percent(point, reference)
    assert loss.mean == pytest.approx(
        100 * (1 - point.items_per_s / reference.items_per_s), abs=1e-6, rel=1e-9
    )


@given(st.lists(points, min_size=1, max_size=6), points, st.floats(0, 99))
def test_no_allowed_point_needs_less_energy(
    others: list[Point], reference: Point, allowed: float
) -> None:
    sweep = [*others, reference]
    found = find_least_energy_within(sweep, reference, allowed)
    assert found is not None and found.loss_percent.mean <= allowed
    for point in sweep:
        if estimate_loss_percent(point, reference).mean <= allowed:
            assert found.point.joules_per_item <= point.joules_per_item


def test_loss_whose_interval_exceeds_what_is_allowed_is_uncertain() -> None:
    found = find_least_energy_within(SWEEP, REFERENCE, 10)
    assert found is not None
    # t of 9 degrees of freedom, and an error of 1 % of each of the two throughputs.
    low, high = found.loss_percent.ci95 or (0.0, 0.0)
    assert (found.point.cap_w, found.certain) == (400, True)
    assert (high - low) / 2 == pytest.approx(94 * 0.01 * 2**0.5 * 2.262, rel=0.01)
    tight = find_least_energy_within(SWEEP, REFERENCE, 6.5)
    assert tight is not None and (tight.point.cap_w, tight.certain) == (400, False)
    below = find_least_energy_within(SWEEP, REFERENCE, 5)
    assert below is not None and (below.point.cap_w, below.certain) == (500, True)


def test_without_intervals_it_is_not_known_whether_the_loss_is_allowed() -> None:
    sweep = [replace(point, spread=None) for point in SWEEP]
    found = find_least_energy_within(sweep, sweep[-1], 5)
    assert found is not None and (found.point.cap_w, found.certain) == (500, None)


def test_reference_is_always_allowed() -> None:
    found = find_least_energy_within([SWEEP[0], REFERENCE], REFERENCE, 0.1)
    assert found is not None and (found.point, found.certain) == (REFERENCE, True)
