"""Which rows have figures in the scope of whole nodes."""

from pathlib import Path

import pytest
from conftest import Submissions
from support.bundles import make_serving_evidence, rederive
from support.report.altered_runs import make_altered_run
from support.report.report_runs import add_sweep, make_run_at_cap, on_one

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import TableRow
from reporting.sections.repeats import JOULES, RATE
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import use_other_boards
from rules.testing.node_power import add_node_power, scale_power

WORKLOAD = "resnet50-train"
DAY_NS = 86_400 * 10**9


def build_page(submissions: Submissions, *runs: EvidenceFrames) -> PageModel:
    add_sweep(submissions, *runs)
    return build_page_model(collect([submissions.root]), Path.as_posix)


def make_metered_run(cap_w: float, rate: float, seed: int, **meter: object) -> EvidenceFrames:
    evidence = make_run_at_cap(cap_w, rate)
    add_node_power(evidence, seed=seed)
    evidence.system["meters"][0].update(meter)
    return evidence


def list_rows(page: PageModel, id: str) -> list[TableRow]:
    (table,) = (table for table in page.tables if table.id == id)
    return list(table.rows)


def list_node_rows(page: PageModel, id: str) -> list[TableRow]:
    rows = list_rows(page, id)
    assert page.node_scope is not None
    cells = page.node_scope.cells.get(id, {})
    return [{**rows[place], **row} for place, row in cells.items()]


def list_energies(page: PageModel) -> dict[object, float]:
    """The energy per item of whole nodes by cap, from the table of node power."""
    rows = list_rows(page, f"{WORKLOAD}-nodes")
    return {row["cap_w"]: float(row["node_joules_per_item"] or 0) for row in rows}


def build_sweep_page(submissions: Submissions) -> PageModel:
    """Four caps, the lowest without a node meter. It takes the least energy on the accelerators,
    which would be the peak."""
    return build_page(
        submissions,
        make_run_at_cap(400, 0.68),
        make_metered_run(500, 0.81, 0),
        make_metered_run(600, 0.87, 1),
        make_metered_run(700, 0.92, 2),
    )


def test_page_without_node_meters_has_no_scope_of_nodes(submissions: Submissions) -> None:
    assert build_page(submissions, make_run_at_cap(700, 1.0)).node_scope is None


def test_setting_has_figures_of_nodes_if_all_of_its_runs_have(submissions: Submissions) -> None:
    page = build_page(
        submissions,
        make_metered_run(700, 1.0, 0),
        make_metered_run(700, 1.001, 1),
        make_metered_run(500, 0.88, 2),
        make_run_at_cap(500, 0.881),
    )
    results = list_node_rows(page, "resnet50-train-results")
    assert sorted(float(row["cap_w"] or 0) for row in results) == [500, 700, 700]
    energies = [float(row["joules_per_item"] or 0) for row in results if row["cap_w"] == 700]
    for id in ("resnet50-train-compare", "what-if"):
        (setting,) = list_node_rows(page, id)
        assert setting["cap_w"] == 700 and setting["scope"] == "whole nodes"
        assert setting["joules_per_item"] == pytest.approx(sum(energies) / 2)
        assert setting["runs"] == 2


def test_run_whose_meter_covers_more_than_its_nodes_has_no_figure_of_nodes(
    submissions: Submissions,
) -> None:
    page = build_page(
        submissions,
        make_metered_run(700, 1.0, 0, scope="rack", nodes_covered=8),
        make_metered_run(500, 0.9, 1),
    )
    (result,) = list_node_rows(page, "resnet50-train-results")
    assert result["cap_w"] == 500
    nodes = {row["cap_w"]: row for row in list_rows(page, f"{WORKLOAD}-nodes")}
    assert result["power_w"] == pytest.approx(nodes[500]["node_mean_power_w"] / 2)


def test_best_at_each_cap_is_that_of_whole_nodes(submissions: Submissions) -> None:
    # The node of the faster run draws more beside its accelerators.
    frugal, fast = make_altered_run(rate=0.96), make_altered_run(rate=0.98)
    for seed, evidence in enumerate((frugal, fast)):
        add_node_power(evidence, seed=seed)
    scale_power(fast, 1.2)
    page = build_page(submissions, frugal, fast)
    of_boards, of_nodes = (
        {row["by"]: row for row in rows}
        for rows in (list_rows(page, f"{WORKLOAD}-best"), list_node_rows(page, f"{WORKLOAD}-best"))
    )
    assert of_nodes.keys() == {"throughput", "efficiency"}
    assert of_boards["efficiency"]["bundle"] == of_boards["throughput"]["bundle"]
    assert of_nodes["throughput"]["bundle"] == of_boards["throughput"]["bundle"]
    assert of_nodes["efficiency"]["bundle"] != of_boards["efficiency"]["bundle"]
    nodes = list_rows(page, f"{WORKLOAD}-nodes")
    least_j = min(float(row["node_joules_per_item"] or 0) for row in nodes)
    assert of_nodes["efficiency"]["value"] == pytest.approx(1 / least_j, rel=1e-3)


def test_peak_and_best_settings_are_those_of_caps_with_node_meters(
    submissions: Submissions,
) -> None:
    page = build_sweep_page(submissions)
    energies = list_energies(page)
    best_cap_w = min(energies, key=lambda cap_w: energies[cap_w])
    (of_boards,) = list_rows(page, f"{WORKLOAD}-peaks")
    (of_nodes,) = list_node_rows(page, f"{WORKLOAD}-peaks")
    assert of_boards["peak_cap_w"] == 400 and of_nodes["peak_cap_w"] == best_cap_w != 400
    assert of_nodes["line"] == of_boards["line"] and of_nodes["scope"] == "whole nodes"
    assert of_nodes["peak_items_per_joule"] == pytest.approx(1 / energies[best_cap_w])
    settings = {row["metric"]: row for row in list_node_rows(page, f"{WORKLOAD}-settings")}
    gain = 100 * (1 - energies[best_cap_w] / energies[700])
    assert settings["energy"]["setting"] == f"{best_cap_w} W"
    assert settings["energy"]["gain"] == pytest.approx(gain)


def test_scaling_compares_the_energy_of_whole_nodes(submissions: Submissions) -> None:
    # A node draws power beside its accelerators, which more accelerators share.
    many, one = make_altered_run(), on_one(make_altered_run(rate=0.9, power=0.95))
    for seed, evidence in enumerate((many, one)):
        add_node_power(evidence, seed=seed)
    page = build_page(submissions, many, one)
    energies = {
        row["count"]: float(row["node_joules_per_item"] or 0)
        for row in list_rows(page, f"{WORKLOAD}-nodes")
    }
    (of_boards,) = list_rows(page, f"{WORKLOAD}-scaling")
    (of_nodes,) = list_node_rows(page, f"{WORKLOAD}-scaling")
    assert of_nodes["energy_per_item_ratio"] == pytest.approx(energies[2] / energies[1])
    assert of_nodes["energy_per_item_ratio"] != pytest.approx(of_boards["energy_per_item_ratio"])
    assert of_nodes["speed_up"] == of_boards["speed_up"]


def test_settings_on_the_same_boards_have_the_energy_of_whole_nodes(
    submissions: Submissions,
) -> None:
    runs = [on_one(make_run_at_cap(700, rate)) for rate in (1.0, 1.001, 0.999, 1.0, 0.96)]
    runs.append(on_one(make_run_at_cap(500, 0.8)))
    for run in runs[4:]:
        use_other_boards(run)
    for seed, run in enumerate(runs):
        add_node_power(run, seed=seed)
    page = build_page(submissions, *runs)
    id = "resnet50-train-cap-boards"
    accelerators, nodes = (
        {row["value"]: row for row in rows}
        for rows in (list_rows(page, id), list_node_rows(page, id))
    )
    assert nodes.keys() == {"500 W", "700 W"}
    assert {row["scope"] for row in nodes.values()} == {"whole nodes"}
    # The rest of the node draws the same power at either cap, for longer at the lower one.
    key = "joules_per_item_change_percent"
    results = list_node_rows(page, "resnet50-train-results")
    energies = {str(row["bundle"])[-5:]: float(row["joules_per_item"] or 0) for row in results}
    percent = 100 * (energies["run-5"] / energies["run-4"] - 1)
    assert nodes["500 W"][key] == pytest.approx(percent)
    assert nodes["500 W"][key] > accelerators["500 W"][key]


def make_open_server(prompt_tokens: int, output_tokens: int) -> EvidenceFrames:
    """A run of the good server with requests of other lengths, on the next day."""
    evidence = make_serving_evidence(seed=8)
    result, requests, batches = evidence.result, evidence.requests, evidence.batches
    assert requests is not None
    result["standing"] = "open"
    lengths = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    usual_tokens = result["settings"]["requests"]["output_tokens"]
    result["settings"]["requests"].update(lengths)
    result["implementation"]["input_shape"] = [prompt_tokens]
    requests[list(lengths)] = list(lengths.values())
    batches["items"] = batches["items"] // usual_tokens * output_tokens
    for count in ("client_output_tokens", "server_output_tokens"):
        result["tally"][count] = result["tally"][count] // usual_tokens * output_tokens
    for key in ("started_at", "ended_at"):
        result[key] = result[key].replace("2026-01-01", "2026-01-02")
    for clock in result["clocks"]:
        clock["wall_ns"] += DAY_NS
    return evidence


def test_energy_by_kind_of_token_is_that_of_whole_nodes(submissions: Submissions) -> None:
    runs = make_serving_evidence(), make_open_server(256, 640)
    for seed, evidence in enumerate(runs):
        add_node_power(evidence, seed=seed)
        rederive(evidence)
        submissions.add(evidence, f"20260101T000000Z-run-{seed}")
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    energies = {
        row["standing"]: row["node_joules_per_item"]
        for row in list_rows(page, "llama3-8b-serve-nodes")
    }
    (of_boards,) = list_rows(page, "llama3-8b-serve-tokens")
    (of_nodes,) = list_node_rows(page, "llama3-8b-serve-tokens")
    assert of_nodes["input_j"] != pytest.approx(of_boards["input_j"])
    for standing, ratio in (("closed", 1024 / 512), ("open", 256 / 640)):
        joules = of_nodes["input_j"] * ratio + of_nodes["output_j"]
        assert joules == pytest.approx(energies[standing])


def test_epochs_and_repeats_are_those_of_the_energy_of_whole_nodes(
    submissions: Submissions,
) -> None:
    page = build_page(submissions, make_metered_run(700, 1.0, 0), make_metered_run(700, 1.001, 1))
    ids = (f"{WORKLOAD}-epochs", f"{WORKLOAD}-repeats")
    (epochs, repeats), (node_epochs, node_repeats) = (
        [read(page, id) for id in ids] for read in (list_rows, list_node_rows)
    )
    assert len(node_epochs) == 2 and len(node_repeats) == len(repeats) == 2
    nodes = list_rows(page, f"{WORKLOAD}-nodes")
    assert {row["joules_per_item"] for row in node_epochs} == {
        row["node_joules_per_item"] for row in nodes
    }
    results = list_rows(page, f"{WORKLOAD}-results")
    for name in (RATE, JOULES):
        assert {row[name] for row in epochs} == {row[name] for row in results}
    for row, node_row in zip(epochs, node_epochs, strict=True):
        assert node_row["rate_drift_percent"] == row["rate_drift_percent"]
        assert node_row["joules_drift_percent"] != row["joules_drift_percent"]
        assert node_row["setting"] == row["setting"]
    throughput, energy = repeats
    node_throughput, node_energy = node_repeats
    assert node_throughput["run_means_percent"] == throughput["run_means_percent"]
    assert node_energy["epochs_percent"] != energy["epochs_percent"]


def test_overview_names_the_most_efficient_setting_of_whole_nodes(submissions: Submissions) -> None:
    page = build_sweep_page(submissions)
    energies = list_energies(page)
    (of_nodes,) = list_node_rows(page, "workloads")
    assert of_nodes["results"] == 3 and of_nodes["scope"] == "whole nodes"
    best_cap_w = min(energies, key=lambda cap_w: energies[cap_w])
    assert str(of_nodes["efficient"]).endswith(f"{best_cap_w} W")
    assert of_nodes["efficient_per_joule"] == pytest.approx(1 / min(energies.values()))


def test_fixed_work_compares_measured_energy_of_nodes_with_measured_alone(
    submissions: Submissions,
) -> None:
    page = build_sweep_page(submissions)
    energies = list_energies(page)
    rows = {row["cap_w"]: row for row in list_rows(page, "fixed-work")}
    assert rows[400]["node_kwh_kind"] == "assumed" and rows[400]["ratio"] == 1
    assert float(rows[400]["node_joules_per_item"] or 0) < min(energies.values())
    for cap_w, energy in energies.items():
        assert rows[cap_w]["ratio"] == pytest.approx(energy / min(energies.values()))
