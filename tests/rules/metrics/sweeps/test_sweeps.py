"""The arithmetic over several runs against the tables of two papers and what must hold for any
sweep."""

from dataclasses import replace

import pytest
from conftest import copy_evidence
from hypothesis import given
from hypothesis import strategies as st
from support.rules.sweep_points import make_sweep, positive_floats

from rules.metrics.energy import MetricsError
from rules.metrics.figures import Estimate, Headline, ObservedPower, RunFigures
from rules.metrics.figures_json import figures_from_json, sweep_run_from_json
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import (
    Point,
    SweepRun,
    combine,
    common_default_cap_w,
    find_reference,
    make_point,
)
from rules.metrics.sweeps.scaling import compute_scaling
from rules.protocol import PROTOCOLS

points = st.builds(Point, positive_floats, positive_floats, positive_floats, st.just(True))


# The reference


def test_reference_is_the_run_at_the_default_cap() -> None:
    runs = make_sweep(1, 2, 3)
    assert find_reference(runs, 300) is runs[1]


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (make_sweep(1, 2), "no run at the default cap of 700 W to compare with"),
        ([], "no run at the default cap of 700 W to compare with"),
        (make_sweep(1, 2, caps_w=(650, 750)), "no run at the default cap of 700 W to compare with"),
        ([Point(700, 1, 1, False)], "default cap of 700 W: its cap is not known to have held"),
        ([Point(700, 1, 1, None)], "default cap of 700 W: its cap is not known to have held"),
        ([Point(700, 1, 1, True, plausible=False)], "or its throughput cannot be"),
        (make_sweep(1, 2, caps_w=(700, 700)), "more than one run at 700 W"),
    ],
)
def test_reference_that_is_not_there_is_an_error(runs: list[Point], says: str) -> None:
    with pytest.raises(MetricsError, match=says):
        find_reference(runs, 700)


@pytest.mark.parametrize("name", ["cap_w", "items_per_s", "joules_per_item"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_point_of_impossible_figures_cannot_be_made(name: str, value: float) -> None:
    with pytest.raises(MetricsError, match=f"{name} of a run at cap"):
        replace(Point(700, 1, 1, True), **{name: value})


# Points from results, and repeats


def make_estimate(mean: float) -> Estimate:
    return Estimate(mean, 1, None, None)


def make_run(
    *enforced: bool | None,
    cap_w: float | None = 400.0,
    joules_per_item: float | None = 5.0,
    mfu: float | None = 0.5,
    default_caps_w: frozenset[float | None] = frozenset(),
) -> SweepRun:
    """A run with an accelerator for each of `enforced`, 100 items/s and these figures."""
    headline = Headline(
        items_per_s_per_accelerator=make_estimate(50.0),
        items_per_s=make_estimate(100.0),
        joules_per_item=None if joules_per_item is None else make_estimate(joules_per_item),
        items_per_joule=None,
        mean_power_w_per_accelerator=make_estimate(250.0),
        energy_j_counter=None,
        energy_j_trapezoid=make_estimate(1.0),
        mfu=None if mfu is None else make_estimate(mfu),
    )
    observed = tuple(
        ObservedPower(f"a{n}", 250.0, is_enforced) for n, is_enforced in enumerate(enforced)
    )
    figures = RunFigures((), headline, "trapezoid", observed, None)
    return SweepRun("a-run", cap_w, default_caps_w, 1.0, figures)


def test_point_of_a_run() -> None:
    assert make_point(make_run(True, True)) == Point(400.0, 100.0, 5.0, True, True)
    assert make_point(make_run(True, False)).enforced is False
    assert make_point(make_run(True, None)).enforced is None
    for mfu, plausible in ((None, True), (1.0, True), (1.01, False)):
        assert make_point(make_run(True, mfu=mfu)).plausible is plausible


def test_run_without_energy_is_no_point() -> None:
    with pytest.raises(MetricsError, match="a-run has no energy"):
        make_point(make_run(True, joules_per_item=None))


def test_run_without_a_cap_is_compared_but_no_point_of_a_sweep_over_caps() -> None:
    point = make_point(make_run(True, cap_w=None))
    assert point.cap_w is None
    comparison = compare(point, replace(point, joules_per_item=10.0))
    assert comparison.energy_gain_percent.mean == 50
    with pytest.raises(MetricsError, match="a run has no cap"):
        combine([point])


def test_run_of_a_sweep_is_what_its_result_states() -> None:
    stated = copy_evidence().result
    run = sweep_run_from_json(stated)
    assert (run.run_id, run.cap_w) == (stated["run_id"], stated["power"]["cap_w"])
    assert run.max_peak_share == PROTOCOLS[stated["protocol"]].max_peak_share
    assert run.default_caps_w == {700.0}
    assert run.figures == figures_from_json(stated)
    stated["readbacks"][-1]["default_mw"] = None
    assert sweep_run_from_json(stated).default_caps_w == {700.0, None}


def test_default_cap_is_the_one_that_all_boards_state() -> None:
    assert common_default_cap_w([700.0, 700.0]) == 700


@pytest.mark.parametrize("stated_w", [[], [None], [700.0, None], [700.0, 600.0]])
def test_boards_that_do_not_state_one_default_cap(stated_w: list[float | None]) -> None:
    with pytest.raises(MetricsError, match="do not name one default cap"):
        common_default_cap_w(stated_w)


def test_repeats_are_combined_to_their_mean() -> None:
    runs = [
        Point(500, 30, 3, True),
        Point(300, 10, 2, True),
        Point(300, 20, 4, True),
        Point(300, 30, 9, True),
    ]
    assert [replace(point, spread=None) for point in combine(runs)] == [
        Point(300, 20, 5, True, True, 3),
        Point(500, 30, 3, True, True, 1),
    ]
    assert combine([]) == []


@pytest.mark.parametrize(
    ("fault", "enforced", "plausible"),
    [
        ({"enforced": False}, False, True),
        ({"enforced": None}, None, True),
        ({"plausible": False}, True, False),
    ],
)
def test_one_run_that_is_not_comparable_keeps_its_cap_from_winning(
    fault: dict[str, bool | None], enforced: bool | None, plausible: bool
) -> None:
    point = Point(300, 10, 2, True)
    (points,) = combine([point, replace(point, **fault)])
    assert (points.enforced, points.plausible, points.comparable) == (enforced, plausible, False)
    (points_of_three,) = combine(
        [replace(point, enforced=False), replace(point, enforced=None), point]
    )
    assert points_of_three.enforced is False


# Scaling over the number of accelerators


def test_scaling_by_hand() -> None:
    scaling = compute_scaling(Point(700, 300, 2.5, True), 4, Point(700, 100, 2.0, True))
    assert (
        scaling.accelerators,
        scaling.speed_up.mean,
        scaling.efficiency_percent.mean,
        scaling.energy_per_item_ratio.mean,
    ) == (
        4,
        3,
        75,
        1.25,
    )


@given(points)
def test_one_accelerator_scales_perfectly(point: Point) -> None:
    scaling = compute_scaling(point, 1, point)
    figures = (scaling.speed_up, scaling.efficiency_percent, scaling.energy_per_item_ratio)
    assert [figure.mean for figure in figures] == [1, 100, 1]


def test_scaling_between_caps_or_on_nothing_is_an_error() -> None:
    point = Point(700, 1, 1, True)
    with pytest.raises(
        MetricsError, match=r"on 4 accelerators is at 600 W and that on one at 700 W"
    ):
        compute_scaling(replace(point, cap_w=600), 4, point)
    with pytest.raises(MetricsError, match="at least one"):
        compute_scaling(point, 0, point)
