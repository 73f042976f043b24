"""How many whole nodes fit a rack."""

import pytest

from rules.metrics.node.racks import compute_pdu_limit_w, plan_rack

RACK_W, REDUNDANCY_PERCENT = 70_000.0, 27.0


@pytest.mark.parametrize(
    ("node_w", "nodes", "used_w", "margin_percent"),
    [(10_200.0, 5, 51_000.0, 27.1), (8_480.0, 6, 50_880.0, 27.3), (8_430.0, 6, 50_580.0, 27.7)],
)
def test_rack_of_latif_holds_one_node_more_by_measured_power(
    node_w: float, nodes: int, used_w: float, margin_percent: float
) -> None:
    plan = plan_rack(RACK_W, REDUNDANCY_PERCENT, node_w)
    assert plan.nodes == nodes
    assert plan.used_w == pytest.approx(used_w, abs=1)
    assert plan.margin_percent == pytest.approx(margin_percent, abs=0.05)


def test_nodes_may_exceed_the_usable_power_by_a_watt() -> None:
    assert plan_rack(10_000.0, 0.0, 5_000.4).nodes == 2
    assert plan_rack(10_000.0, 0.0, 5_000.6).nodes == 1
    # 1 - 0.27 has no exact double.
    assert plan_rack(RACK_W, REDUNDANCY_PERCENT, RACK_W * 0.73 / 7).nodes == 7


@pytest.mark.parametrize("redundancy_percent", [0.0, 50.0, 100.0])
def test_a_node_that_does_not_fit_leaves_the_rack_empty(redundancy_percent: float) -> None:
    plan = plan_rack(5_000.0, redundancy_percent, 10_200.0)
    assert (plan.nodes, plan.used_w, plan.margin_percent) == (0, 0.0, 100.0)


def test_pdu_limit_is_volts_by_amperes_by_phases_by_derating() -> None:
    # The PDU of Latif et al.: 208 V between phases is 120 V to neutral.
    assert compute_pdu_limit_w(1, 120.0, 50.0, 3, 80.0) == pytest.approx(14_400.0)
    assert compute_pdu_limit_w(4, 230.0, 32.0, 3, 80.0) == pytest.approx(70_656.0)
