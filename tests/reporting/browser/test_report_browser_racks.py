"""The rack planner and the node share of the page in a browser: the numbers of the rules, and
inputs in the address."""

from typing import Any

import pytest
from support.report.browser import (
    RATE,
    TIMEOUT_MS,
    draw_figure,
    read_address,
    read_column,
    read_rows,
    wait_for_script,
)

from reporting.pareto import EfficiencyPoint, mark_points
from reporting.sections.planning import DEFAULTS
from rules.metrics.node.racks import compute_pdu_limit_w, plan_rack
from rules.metrics.power.profile import with_node_overhead

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def find_plans(page: Any, rack_w: float, redundancy_percent: float) -> int:
    """How many rows of the rack planner have the plan of the rule book."""
    count = 0
    for row in read_rows(page, "rack"):
        if row["node_w"] is None:
            assert (row["nodes"], row["used_kw"], row["margin_percent"]) == (None, None, None)
            continue
        plan = plan_rack(rack_w, redundancy_percent, row["node_w"])
        assert row["nodes"] == plan.nodes, row
        assert row["used_kw"] == pytest.approx(plan.used_w / 1e3, abs=1e-6)
        assert row["margin_percent"] == pytest.approx(plan.margin_percent, abs=1e-6)
        count += 1
    return count


def test_rack_planner_computes_as_the_rules_do(page: Any) -> None:
    known = find_plans(page, DEFAULTS.rack_kw * 1e3, DEFAULTS.redundancy_percent)
    assert known >= 7
    assert read_column(page, "rack", "nodes")[:3] == ["5", "6", "6"]
    panel = page.locator('[data-panel="rack"]')
    panel.get_by_label("rack limit").fill("123.4")
    panel.get_by_label("redundancy").fill("12.5")
    assert find_plans(page, 123_400.0, 12.5) == known
    panel.get_by_label("number of PDUs").fill("3")
    limit_w = compute_pdu_limit_w(
        3,
        DEFAULTS.pdu_volts,
        DEFAULTS.pdu_amperes,
        DEFAULTS.pdu_phases,
        DEFAULTS.pdu_derating_percent,
    )
    assert limit_w < 123_400
    assert find_plans(page, limit_w, 12.5) == known
    assert "Limit: 52.99 kW by the PDUs." in page.locator("#racks").inner_text()
    for label, value in (("volts", "120"), ("amperes", "50"), ("phases", "2"), ("derating", "90")):
        panel.get_by_label(label).fill(value)
    assert find_plans(page, compute_pdu_limit_w(3, 120, 50, 2, 90), 12.5) == known
    unrated = sum(row["node_w"] is None for row in read_rows(page, "rack"))
    panel.get_by_label("rated power").fill("14300")
    assert find_plans(page, compute_pdu_limit_w(3, 120, 50, 2, 90), 12.5) == known + unrated
    ratings_w = {row["node_w"] for row in read_rows(page, "rack") if row["by"] == "rating"}
    assert ratings_w == {14_300}


def test_inputs_of_the_rack_planner_are_in_the_address(page: Any) -> None:
    panel = page.locator('[data-panel="rack"]')
    inputs = {"rack limit": "100", "redundancy": "0", "rated power": "9000", "number of PDUs": "9"}
    for label, value in inputs.items():
        panel.get_by_label(label).fill(value)
    shown = read_rows(page, "rack")
    page.reload()
    wait_for_script(page)
    assert read_rows(page, "rack") == shown
    for label, value in inputs.items():
        assert panel.get_by_label(label).input_value() == value


def set_node_share(page: Any, node_w: float, accelerators: int) -> None:
    panel = page.locator('[data-panel="node-share"]')
    panel.get_by_label("W per node").fill(f"{node_w:g}")
    panel.get_by_label("accelerators per node").fill(str(accelerators))


def test_node_share_of_the_reader_changes_efficiency_and_marks_as_the_rules_do(page: Any) -> None:
    id = "resnet50-train-results"
    before = read_rows(page, id)
    set_node_share(page, 1600, 8)
    rows = read_rows(page, id)
    points = []
    for row in rows:
        power_w = row["cap_w"] if row["power_w"] is None else row["power_w"]
        efficiency = with_node_overhead(row[RATE], power_w, 1600, 8)
        assert row["node_items_per_joule_assumed"] == pytest.approx(efficiency)
        points.append(
            EfficiencyPoint(
                line=row["line"],
                standing=row["standing"],
                is_comparable=row["comparable"],
                may_win=row["comparable"] and not row["withheld"],
                cap_w=row["cap_w"],
                items_per_s=row[RATE],
                items_per_joule=efficiency,
            )
        )
    marks = mark_points(points)
    assert [row["peak_node"] for row in rows] == [mark.is_peak for mark in marks]
    assert [row["front_node"] for row in rows] == [mark.is_on_front for mark in marks]
    assert [row["peak_node"] for row in before] != [row["peak_node"] for row in rows]
    assert [row["peak"] for row in before] == [row["peak"] for row in rows]
    set_node_share(page, 100, 4)
    assert read_rows(page, id) == before
    assert "node-w" not in read_address(page)


def test_node_share_of_the_reader_is_in_the_address_and_moves_the_points(page: Any) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-efficiency")
    figure.locator("input[type=checkbox]").check()
    places = (
        "figure => [...figure.querySelectorAll('.mark-symbol path')]"
        ".map(point => point.getAttribute('transform')).join()"
    )
    before = figure.evaluate(places)
    set_node_share(page, 1600, 8)
    page.wait_for_function(
        f"([figure, before]) => ({places})(figure) !== before",
        arg=[figure.element_handle(), before],
        timeout=TIMEOUT_MS,
    )
    assert "Assumed here: 200.0 W per accelerator." in page.locator("#node-share").inner_text()
    rows = read_rows(page, id)
    page.reload()
    wait_for_script(page)
    assert read_rows(page, id) == rows
