"""The table of node power: a scope of its own, with ranks of its own."""

from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.report.report_runs import add_sweep, make_run_at_cap

from reporting.charts import build_charts
from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import ReportTable
from rules.testing.node_power import add_node_power, scale_power


def build_tables(submissions: Submissions) -> dict[str, ReportTable]:
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    return {table.id: table for table in page.tables}


def add_run(
    submissions: Submissions,
    number: int,
    factor: float,
    installed: int | None = 2,
    **meter: object,
) -> str:
    """A run with node power, `factor` times the usual, on two of `installed` accelerators. Returns
    its name."""
    evidence = copy_evidence()
    if number:
        make_other_run(evidence, number)
    name = f"20260101T000000Z-node-power-{number}"
    evidence.result["run_id"] = name
    add_node_power(evidence, seed=number)
    evidence.system["meters"][0].update(meter)
    if installed is not None:
        evidence.system["nodes"][0]["accelerators_installed"] = installed
    scale_power(evidence, factor)
    rederive(evidence)
    submissions.add(evidence, name)
    return name


def test_runs_without_a_node_meter_have_no_table_of_nodes_and_racks(
    submissions: Submissions,
) -> None:
    submissions.add()
    assert not [id for id in build_tables(submissions) if id.endswith("-nodes") or id == "rack"]


def test_least_energy_of_nodes_comes_first_and_meters_of_racks_come_last(
    submissions: Submissions,
) -> None:
    usual = add_run(submissions, 0, 1.0)
    lower = add_run(submissions, 1, 0.95)
    rack = add_run(submissions, 2, 0.9, scope="rack", nodes_covered=8)
    table = build_tables(submissions)["resnet50-train-nodes"]
    assert [str(row["bundle"]).rpartition("/")[2] for row in table.rows] == [lower, usual, rack]
    assert [row["unranked"] for row in table.rows] == [
        None,
        None,
        "meter pdu1 covers 8 nodes",
    ]
    first = table.rows[0]
    assert first["node_level"] == "level 3"
    assert first["meters"] == "Example EM-1, pdu-outlet, AC, 1 %"
    assert first["node_joules_per_item_n"] == 10
    low, high = float(str(first["node_joules_per_item_low"])), first["node_joules_per_item_high"]
    assert low < float(str(first["node_joules_per_item"])) < float(str(high))


def test_figures_of_accelerators_do_not_contain_those_of_nodes(submissions: Submissions) -> None:
    add_run(submissions, 0, 1.0)
    tables = build_tables(submissions)
    (row,) = tables["resnet50-train-results"].rows
    (node,) = tables["resnet50-train-nodes"].rows
    assert (row["scope"], node["scope"]) == ("accelerators only", "whole nodes")
    ratio = float(str(node["node_over_accelerators"]))
    assert float(str(node["node_joules_per_item"])) == pytest.approx(
        ratio * float(str(row["joules_per_item"])), rel=0.02
    )
    assert not {"node_joules_per_item", "node_mean_power_w", "node_over_accelerators"} & row.keys()


def test_racks_are_planned_by_the_nodes_that_runs_measured(submissions: Submissions) -> None:
    add_run(submissions, 0, 1.0)
    add_run(submissions, 1, 0.95)
    add_run(submissions, 2, 0.5, scope="rack", nodes_covered=8)
    tables = build_tables(submissions)
    runs = tables["whole-nodes"].rows
    assert [row["what"] for row in runs] == ["2 \u00d7 H200"] * 2, "a rack is not a node"
    for row in runs:
        keys = ("min_w", "p5_w", "p25_w", "median_w", "p75_w", "p95_w", "max_w")
        percentiles_w = [float(str(row[key])) for key in keys]
        assert percentiles_w == sorted(percentiles_w)
        assert percentiles_w[0] < percentiles_w[-1]
    (chart,) = build_charts(tables["whole-nodes"])
    assert (chart.id, chart.source) == ("whole-nodes-2", "2 bundles")
    # Nodes of two sources may have one name.
    assert {"what", "source", "basis", "node_w"} <= {*tables["rack"].compact_keys}
    usual = max(float(str(row["max_w"])) for row in runs)
    plans = {row["by"]: row for row in tables["rack"].rows}
    assert plans.keys() == {"rating", "max", "p99", "mean"}
    assert plans["rating"]["nodes"] is None, "system.json states no rated power"
    assert plans["max"]["node_w"] == usual
    assert plans["max"]["node_w_kind"] == "measured"
    assert plans["max"]["nodes"] == int((70_000 * 0.73 + 1) // usual)
    assert float(str(plans["p99"]["node_w"])) <= usual


def test_the_highest_rating_that_a_bundle_states_is_planned_with(submissions: Submissions) -> None:
    ratings = {"data sheet": 10200, "label": 9000}
    for number, (source, rated_w) in enumerate(ratings.items()):
        evidence = make_other_run(copy_evidence(), number)
        add_node_power(evidence, seed=number)
        node = evidence.system["nodes"][0]
        node.update(accelerators_installed=2, rated_w=rated_w, rated_source=source)
        rederive(evidence)
        submissions.add(evidence, f"20260101T000000Z-node-power-{number}")
    tables = build_tables(submissions)
    rows = tables["resnet50-train-nodes"].rows
    assert {row["node_rated_source"]: row["node_rated_w"] for row in rows} == ratings
    assert {run["rated_w"] for run in tables["whole-nodes"].rows} == {*ratings.values()}
    plans = {row["by"]: row for row in tables["rack"].rows}
    assert (plans["rating"]["node_w"], plans["rating"]["nodes"]) == (10200, 5)


def test_racks_are_not_planned_by_nodes_with_idle_or_unknown_accelerators(
    submissions: Submissions,
) -> None:
    add_run(submissions, 0, 1.0, installed=8)
    add_run(submissions, 1, 0.95, installed=None)
    assert not build_tables(submissions).keys() & {"rack", "whole-nodes"}


def test_a_measured_node_has_no_assumed_node_share(submissions: Submissions) -> None:
    add_run(submissions, 0, 1.0)
    other_run = make_other_run(copy_evidence(), 1)
    rederive(other_run)
    submissions.add(other_run, "bundle-without-node-power")
    (measured, assumed) = sorted(
        build_tables(submissions)["resnet50-train-results"].rows,
        key=lambda row: str(row["bundle"]).endswith("without-node-power"),
    )
    assert measured["node_items_per_joule_assumed"] is None
    assert assumed["node_items_per_joule_assumed"] is not None


def test_gains_of_whole_nodes_stand_beside_those_of_their_accelerators(
    submissions: Submissions,
) -> None:
    """The host draws the same at both caps, so the node saves less than its boards."""
    runs = [make_run_at_cap(500, 0.88), make_run_at_cap(700, 1.0)]
    for place, evidence in enumerate(runs):
        add_node_power(evidence, seed=place)
    # Both nodes have the host power of the run at 700 W.
    add_sweep(submissions, *runs)
    rows = build_tables(submissions)["resnet50-train-node-gains"].rows
    at_500, at_700 = rows
    assert (at_500["cap_w"], at_700["cap_w"]) == (500, 700)
    heads = [evidence.result["headline"] for evidence in runs]
    nodes = [evidence.result["node"]["joules_per_item"]["mean"] for evidence in runs]
    joules = [head["joules_per_item"]["mean"] for head in heads]
    assert at_500["node_energy_gain_percent"] == pytest.approx(100 * (1 - nodes[0] / nodes[1]))
    assert at_500["energy_gain_percent"] == pytest.approx(100 * (1 - joules[0] / joules[1]))
    gain, low = at_500["node_energy_gain_percent"], at_500["node_energy_gain_percent_low"]
    assert 0 < float(str(low)) < float(str(gain)) < float(str(at_500["energy_gain_percent"]))
    assert at_700["node_energy_gain_percent"] == 0
    rates = [head["items_per_s"]["mean"] for head in heads]
    for prefix, energies in (("", joules), ("node_", nodes)):
        edp = energies[0] / energies[1] * rates[1] / rates[0]
        assert at_500[f"{prefix}edp_gain_percent"] == pytest.approx(100 * (1 - edp))
    for k in (1.5, 2.0):
        eds = (k - 1) / k * nodes[0] / nodes[1] + 1 / k * rates[1] / rates[0]
        assert at_500[f"node_eds_gain_k{k:g}_percent".replace(".", "")] == pytest.approx(
            100 * (1 - eds)
        )
    not_told = str(at_500["not_told_apart"]).split(", ")
    for name, key in (("energy gain", "energy_gain_percent"), ("EDP gain", "edp_gain_percent")):
        low, high = (float(str(at_500[f"node_{key}_{end}"])) for end in ("low", "high"))
        assert (low < 0 < high) == (name in not_told)


def test_fixed_work_has_the_measured_energy_of_nodes_else_an_assumed_share(
    submissions: Submissions,
) -> None:
    add_run(submissions, 0, 1.0)
    boards_only = copy_evidence()
    rederive(make_other_run(boards_only, 1))
    submissions.add(boards_only, "20260101T000000Z-boards-only")
    tables = build_tables(submissions)
    rows = {row["node_kwh_kind"]: row for row in tables["fixed-work"].rows}
    (node,) = tables["resnet50-train-nodes"].rows
    measured, assumed = rows["measured"], rows["assumed"]
    assert measured["node_joules_per_item"] == node["node_joules_per_item"]
    share_kwh = 2 * 25 * float(str(assumed["hours"])) / 1e3
    assert float(str(assumed["node_kwh"])) == pytest.approx(
        float(str(assumed["accelerators_kwh"])) + share_kwh
    )
    assert min(float(str(row["ratio"])) for row in rows.values()) == 1
    assert "100 W per 4 accelerators" in tables["fixed-work"].about
