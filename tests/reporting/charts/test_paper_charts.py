"""The charts that redraw figures of papers: sound Vega-Lite, and the values of their tables."""

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from support.report.chart_tables import validate_spec
from support.rules.model_results import in_setup, make_result

from reporting.charts import build_charts
from reporting.charts.chart import Chart
from reporting.charts.render import to_svg
from reporting.report_table import ReportTable
from reporting.studies.page import StudyPage
from reporting.studies.paper_tables import (
    build_figure_tables,
    build_ladder_table,
    build_year_table,
)
from reporting.trends.figure_tables import build_figure_tables as build_trends_tables
from reporting.trends.tables import build_tables
from rules.studies.figures import keep_sound
from rules.studies.metrics.comparisons import compare_setups, group_by_setup
from rules.studies.metrics.fronts import find_yearly_fronts
from rules.studies.published import read_published_study
from rules.studies.results import ModelResult, Setup
from rules.studies.trends.figures import compute_trends
from rules.studies.trends.reader import read_trends_study
from rules.testing.study_results import make_measured_results

PUBLISHED = Path(__file__).parents[3] / "submissions/published"
Groups = dict[Setup, tuple[ModelResult, ...]]


@pytest.fixture(scope="module")
def groups() -> Groups:
    """A measured setup with batch sizes, and the published ones, of 120 models."""
    study = read_published_study(PUBLISHED / "yang2025.json")
    names = sorted({(r.architecture, r.tag or "", r.size) for r in study.results})[::11][:120]
    kept = [r for r in study.results if (r.architecture, r.tag or "", r.size) in set(names)]
    setup = Setup("2026-11-h200", "measured", "NVIDIA H200", "cudagraph", "bf16", 700.0)
    seeded = {(r.architecture, r.size): r for r in kept}.values()
    return group_by_setup([*make_measured_results(seeded, setup), *kept])


@pytest.fixture(scope="module")
def tables(groups: Groups) -> dict[str, ReportTable]:
    study = read_trends_study(PUBLISHED / "desislavov2023/trends.json")
    figures = compute_trends(study)
    listed = [
        *build_figure_tables(groups),
        build_ladder_table(groups),
        *build_trends_tables(study, figures),
        *build_tables(study, figures, [], [], str).values(),
    ]
    return {table.id: table for table in listed}


@pytest.fixture(scope="module")
def charts(tables: dict[str, ReportTable]) -> dict[str, Chart]:
    return {chart.id: chart for table in tables.values() for chart in build_charts(table)}


def test_every_figure_has_a_chart_that_can_be_drawn(charts: dict[str, Chart]) -> None:
    assert {"study-power", "study-years", "study-ratio", "trends-peaks"} <= charts.keys()
    assert {"image-inference-ladder-power", "trends-edge-energy"} <= charts.keys()
    assert {"trends-joules", "trends-joules-language", "trends-axes-score-gflops"} <= charts.keys()
    for chart in charts.values():
        validate_spec(chart.spec)
        assert chart.title and chart.alt, chart.id
        svg = to_svg(chart)
        assert "<path" in svg and "NaN" not in svg, chart.id
    assert 'stroke-dasharray="6,3"' in to_svg(charts["study-power"]), "caps are dashed lines"


def test_ratios_are_those_of_the_rules(groups: Groups, tables: dict[str, ReportTable]) -> None:
    pairs: dict[str, list[float]] = {}
    for row in tables["image-inference-ratios"].rows:
        pairs.setdefault(str(row["pair"]), []).append(float(row["energy_ratio"] or 0))
    assert len(pairs) == 2
    for board in ("A100", "H100"):
        over, under = (
            keep_sound(results)
            for engine in ("eager", "tensorrt")
            for setup, results in groups.items()
            if board in setup.board and setup.engine == engine
        )
        comparison = compare_setups(over, under)
        assert comparison is not None
        (ratios,) = (values for pair, values in pairs.items() if board in pair)
        assert len(ratios) == comparison.energy_ratio.n
        mean = math.exp(fmean(map(math.log, ratios)))
        assert mean == pytest.approx(comparison.energy_ratio.value)


def test_fronts_by_year_are_those_of_the_rules(groups: Groups) -> None:
    rows = build_year_table(groups).rows
    for setup, results in groups.items():
        fronts = find_yearly_fronts(keep_sound(results))
        label = next(row["setup"] for row in rows if setup.engine in str(row["setup"]))
        assert fronts and label
    measured = next(iter(groups))
    own = [row for row in rows if "H200" in str(row["setup"])]
    fronts = find_yearly_fronts(keep_sound(groups[measured]))
    assert [int(str(row["year"])) for row in own] == list(fronts)
    for row, front in zip(own, fronts.values(), strict=True):
        reaching = [r.best.joules_per_image for r in front if r.accuracy_pct["imagenet"] >= 80]
        expected = min(reaching) * 1e3 if reaching else None
        assert row["mj_80"] == (pytest.approx(expected) if expected else None)


def test_medians_of_a_batch_size_need_several_models() -> None:
    few = {r.setup: (r,) for r in [make_result("resnet50", 0.1, 80)]}
    assert build_ladder_table(few).rows == () and build_figure_tables(few) == []
    assert build_charts(build_ladder_table(few)) == []
    demo = in_setup(make_result("resnet50", 0.1, 80), provenance="simulated")
    assert build_year_table({demo.setup: (demo,)}).rows == ()


def read_regressions(spec: Any) -> list[str]:
    """The conditions of the fitted lines of a spec."""
    return [
        layer["transform"][0]["filter"]
        for layer in spec["layer"]
        if any("regression" in step for step in layer.get("transform", ()))
    ]


def test_fits_leave_out_what_came_after_the_publication(charts: dict[str, Chart]) -> None:
    for id in ("trends-efficiency", "trends-flops", "trends-joules"):
        conditions = read_regressions(charts[id].spec)
        assert len(conditions) == 2
        kinds = {str(row["kind"]) for row in charts[id].table.rows}
        assert any("after 2021" in kind for kind in kinds)
        assert all("after" in condition or "best of" in condition for condition in conditions)


def test_tables_without_figures_have_no_chart(tables: dict[str, ReportTable]) -> None:
    """A publication need not state every figure."""
    for id, table in tables.items():
        if not id.startswith("trends"):
            continue
        texts = {"precision": "FP32", "kind": "a", "name": "a", "table": "a"}
        rows = tuple({key: texts.get(key) for key in row} for row in table.rows)
        for emptied in (replace(table, rows=()), replace(table, rows=rows)):
            assert build_charts(emptied) == [], id


def test_simulated_setups_are_compared_with_their_like_only() -> None:
    results = [make_result(name, 0.1, 80) for name in ("resnet50", "resnet18")]
    others = [in_setup(result, provenance="simulated") for result in results]
    page = StudyPage(group_by_setup([*results, *others]), {}, {}, False, "")
    assert page.ratio_setups == {"over": 0, "under": 0}
    third = [in_setup(result, board="NVIDIA H100") for result in results]
    page = StudyPage(group_by_setup([*others, *results, *third]), {}, {}, False, "")
    assert page.ratio_setups == {"over": 1, "under": 2}
