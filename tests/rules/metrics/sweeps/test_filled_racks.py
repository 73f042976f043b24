"""A rack of whole nodes as a function of the cap: whole nodes, throughput, margin and ties. The
golden values are those of Latif, Koszczał and Mayr."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules.sweep_points import positive_floats

from rules.metrics.energy import MetricsError
from rules.metrics.sweeps.best_settings import Metric, find_best_settings
from rules.metrics.sweeps.filled_racks import (
    FilledRack,
    NodeAtCap,
    compare_racks,
    fill_rack,
    find_best_rack,
)
from rules.metrics.sweeps.peaks import find_measured_peak
from rules.metrics.sweeps.points import Point
from rules.metrics.sweeps.published_gains import PrintedComparison, leave_out_rest_of_node
from rules.metrics.sweeps.rest_of_node import add_rest_of_node, assume_rest_of_node_w
from rules.metrics.uncertainty.propagation import Spread

PUBLISHED = Path(__file__).parents[4] / "submissions/published"
LATIF, KOSZCZAL, MAYR = (
    json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("latif2024", "koszczal2023", "mayr2026")
)

limits_w = st.floats(1e3, 1e6)
node_powers_w = st.floats(100, 2e4)
redundancies = st.floats(0, 99)
EQUAL = Spread(0.01**2, 0.01**2, 0.0, 9, "runs")


def make_node(planned_w: float, rate: float = 1.0, spread: Spread | None = None) -> NodeAtCap:
    point = Point(500, rate, planned_w / rate, True, spread=spread)
    return NodeAtCap(point, planned_w, planned_w)


@given(limits_w, redundancies, node_powers_w, positive_floats)
def test_rack_has_whole_nodes_within_its_usable_power(
    limit_w: float, redundancy: float, node_w: float, rate: float
) -> None:
    rack = fill_rack(limit_w, redundancy, make_node(node_w, rate))
    usable_w = limit_w * (1 - redundancy / 100)
    assert rack.plan.nodes * node_w <= usable_w + 1.001
    assert (rack.plan.nodes + 1) * node_w > usable_w
    assert rack.items_per_s.mean == pytest.approx(rack.plan.nodes * rate)
    assert rack.mean_w == pytest.approx(rack.plan.nodes * node_w)


@given(limits_w, redundancies, node_powers_w)
def test_nodes_that_draw_their_spare_power_still_fit_and_no_more_do(
    limit_w: float, redundancy: float, node_w: float
) -> None:
    rack = fill_rack(limit_w, redundancy, make_node(node_w))
    if rack.spare_w is None:
        assert rack.plan.nodes == 0
        return
    drawn = make_node(node_w + rack.spare_w)
    assert fill_rack(limit_w, redundancy, drawn).plan.nodes == rack.plan.nodes
    one_more = fill_rack(limit_w, redundancy, make_node(rack.one_more_w))
    assert one_more.plan.nodes >= rack.plan.nodes + 1


@given(limits_w, node_powers_w, st.floats(0.05, 1))
def test_lower_power_of_a_node_never_empties_the_rack(
    limit_w: float, node_w: float, share: float
) -> None:
    before, after = (fill_rack(limit_w, 0, make_node(w)) for w in (node_w, node_w * share))
    assert after.plan.nodes >= before.plan.nodes


def test_rack_of_latif_has_five_nodes_by_the_rating_and_six_by_the_control_run() -> None:
    """Section VI: 70 kW, of which 27 % are kept free."""
    (control,) = [node for node in LATIF["nodes"] if node["control"]]
    racks = [fill_rack(70e3, 27, make_node(control[key])) for key in ("rated_w", "max_w")]
    assert [rack.plan.nodes for rack in racks] == [5, 6]
    assert [round(rack.plan.margin_percent, 1) for rack in racks] == [27.1, 27.3]
    # Six nodes of equal work do a fifth more than five.
    assert compare_racks(racks[1], racks[0]).mean == pytest.approx(0.2)


def make_koszczal_sweep() -> list[Point]:
    """Eight boards at their caps, and the rest of the node that the printed gain at 170 W implies.
    Times at 160 and 200 W follow from the gains that Table 1 prints there."""
    printed = {(gain["metric"], gain.get("k")): gain for gain in KOSZCZAL["gains"][:5]}
    seconds = {
        work["cap_w"]: work["seconds"]
        for work in KOSZCZAL["fixed_work"]
        if work["accelerators"] == 8
    }
    points = printed["gain minus extra time", None]["gain_percent"]
    rest_w = leave_out_rest_of_node(
        PrintedComparison(seconds[170], seconds[260], points), 8, 170, 260
    ).rest_of_node_w
    power_ratio = {cap_w: (8 * cap_w + rest_w) / (8 * 260 + rest_w) for cap_w in (160, 200)}
    energy = 1 - printed["energy", None]["gain_percent"] / 100
    eds = 1 - printed["EDS", 1.5]["gain_percent"] / 100
    seconds[160] = seconds[260] * energy / power_ratio[160]
    seconds[200] = seconds[260] * eds / (power_ratio[200] / 3 + 2 / 3)
    return [
        add_rest_of_node(
            Point(cap_w, 5e4 / seconds[cap_w], 8 * cap_w * seconds[cap_w] / 5e4, True), rest_w
        )
        for cap_w in sorted(seconds)
    ]


def test_optima_of_koszczal_come_out_of_boards_at_their_caps_and_a_constant_rest() -> None:
    points = make_koszczal_sweep()
    best = {b.metric: b for b in find_best_settings(points, points[-1])}
    for gain in KOSZCZAL["gains"][:5]:
        found = best[Metric(gain["metric"], gain.get("k"))]
        assert found.point.cap_w == gain["cap_w"]
        assert found.gain.mean == pytest.approx(gain["gain_percent"], abs=0.015)


def test_rack_of_nodes_of_koszczal_has_most_throughput_where_two_more_nodes_fit() -> None:
    nodes = [
        NodeAtCap(point, point.joules_per_item * point.items_per_s, 1.0)
        for point in make_koszczal_sweep()
    ]
    racks = [fill_rack(10e3, 0, node) for node in nodes]
    best = find_best_rack(racks)
    assert best is not None
    # At 160 W no further node fits, so the slower nodes gain nothing.
    assert [rack.plan.nodes for rack in racks] == [6, 6, 5, 4]
    assert best.rack.node.point.cap_w == 170
    # Without an interval nothing is told apart.
    assert best.not_told_apart is None


PEAKS_W = {
    ("resnet50-train", "H100"): 300,
    ("sd2-train", "H100"): 300,
    ("llama3-8b-serve", "H100"): 300,
    ("resnet50-train", "H200"): 400,
    ("vitl16-train", "H200"): 400,
    ("sd2-train", "H200"): 400,
    ("llama3-8b-serve", "H200"): 400,
}
"""Section 5 of Mayr et al. 2026. ViT-L/16 on H100 is in test_sweep_peaks.py; pre-training is above
the peak of a board."""


@pytest.mark.parametrize("sweep_of", sorted(PEAKS_W))
def test_peaks_of_mayr_come_out_of_a_node_of_four_boards_and_its_assumed_rest(
    sweep_of: tuple[str, str],
) -> None:
    points = [
        add_rest_of_node(
            Point(
                row["cap_w"],
                4 * row["items_per_s_per_accelerator"],
                row["cap_w"] / row["items_per_s_per_accelerator"],
                row["cap_enforced"],
            ),
            assume_rest_of_node_w(4),
        )
        for row in MAYR["rows"]
        if (row["workload"], row["accelerator"]) == sweep_of
    ]
    # The paper adds 25 W to each board.
    assert points[0].joules_per_item * points[0].items_per_s == pytest.approx(4 * 200 + 100)
    assert find_measured_peak(points).cap_w == PEAKS_W[sweep_of]
    best = find_best_settings([p for p in points if p.comparable], points[-1])
    assert best[0].point.cap_w == PEAKS_W[sweep_of]


def fill_at(limit_w: float, *nodes: NodeAtCap) -> list[FilledRack]:
    return [fill_rack(limit_w, 0, node) for node in nodes]


def test_racks_whose_throughput_differs_by_less_than_its_interval_are_not_told_apart() -> None:
    near, far = make_node(5_000, 10, EQUAL), make_node(2_500, 5.02, EQUAL)
    slow = make_node(5_000, 8, EQUAL)
    best = find_best_rack(fill_at(10e3, near, far, slow))
    assert best is not None and best.not_told_apart is not None
    assert best.rack.node is far
    assert [rack.node for rack in best.not_told_apart] == [near, far]


def test_of_racks_of_equal_throughput_the_one_that_draws_less_is_best() -> None:
    best = find_best_rack(fill_at(10e3, make_node(5_000, 10), make_node(4_000, 10)))
    assert best is not None and best.rack.node.planned_w == 4_000


def test_a_rack_that_no_node_fits_has_no_best_cap() -> None:
    assert find_best_rack(fill_at(1e3, make_node(5_000), make_node(4_000))) is None


# The rest of the node


@given(positive_floats, positive_floats, st.floats(0, 1e6), st.floats(0, 1e6))
def test_rest_of_a_node_adds_its_power_and_no_time(
    rate: float, joules: float, rest_w: float, more_w: float
) -> None:
    point = Point(500, rate, joules, True, spread=EQUAL)
    added = add_rest_of_node(point, rest_w)
    assert added.items_per_s == rate
    assert added.joules_per_item * rate == pytest.approx(joules * rate + rest_w)
    twice, once = add_rest_of_node(added, more_w), add_rest_of_node(point, rest_w + more_w)
    assert twice.joules_per_item == pytest.approx(once.joules_per_item)
    assert twice.spread and once.spread
    assert twice.spread.energy_variance == pytest.approx(once.spread.energy_variance)
    assert twice.spread.covariance == pytest.approx(once.spread.covariance, abs=1e-12)
    assert add_rest_of_node(point, 0) == point


def test_energy_of_a_rest_that_dwarfs_the_boards_is_as_certain_as_the_time() -> None:
    spread = Spread(0.05**2, 0.01**2, 0.0, 9, "runs")
    added = add_rest_of_node(Point(500, 1.0, 1.0, True, spread=spread), 1e9).spread
    assert added is not None
    assert added.energy_variance == pytest.approx(0.01**2, rel=1e-6)
    assert added.covariance == pytest.approx(0.01**2, rel=1e-6)


@pytest.mark.parametrize("rest_w", [-1.0, float("nan"), float("inf")])
def test_impossible_rest_of_a_node_is_an_error(rest_w: float) -> None:
    with pytest.raises(MetricsError, match="it must be 0 or more"):
        add_rest_of_node(Point(500, 1, 1, True), rest_w)
