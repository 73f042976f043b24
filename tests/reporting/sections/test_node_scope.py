"""Which rows have figures in the scope of whole nodes."""

from pathlib import Path

import pytest
from conftest import Submissions
from support.report.report_runs import add_sweep, make_run_at_cap

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import TableRow
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power


def build_page(submissions: Submissions, *runs: EvidenceFrames) -> PageModel:
    add_sweep(submissions, *runs)
    return build_page_model(collect([submissions.root]), Path.as_posix)


def make_metered_run(cap_w: float, rate: float, seed: int, **meter: object) -> EvidenceFrames:
    evidence = make_run_at_cap(cap_w, rate)
    add_node_power(evidence, seed=seed)
    evidence.system["meters"][0].update(meter)
    return evidence


def list_node_rows(page: PageModel, id: str) -> list[TableRow]:
    (table,) = (table for table in page.tables if table.id == id)
    assert page.node_scope is not None
    cells = page.node_scope.cells.get(id, {})
    return [{**table.rows[place], **row} for place, row in cells.items()]


def test_page_without_node_meters_has_no_scope_of_nodes(submissions: Submissions) -> None:
    assert build_page(submissions, make_run_at_cap(700, 1.0)).node_scope is None


def test_setting_has_figures_of_nodes_if_all_of_its_runs_have(submissions: Submissions) -> None:
    page = build_page(
        submissions,
        make_metered_run(700, 1.0, 0),
        make_metered_run(700, 1.001, 1),
        make_metered_run(500, 0.9, 2),
        make_run_at_cap(500, 0.901),
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
