"""The page of trends: its numbers are those of the rules, and it lies beside the main page."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from support.report.drawing import open_drawing_here
from support.report.html import Tree, list_table_ids, read_lines
from support.report.result_rows import make_run_row
from support.rules.model_results import in_setup, make_result

from checker.verdict import TrustLevel
from reporting.charts.encoding import GREEN
from reporting.cli import main
from reporting.collect import Collected
from reporting.report_table import format_value
from reporting.results_model import ResultRow
from reporting.study_record import DEMO, BundleOrigin, StudyRecord
from reporting.trends.own import list_own_boards, list_own_models
from reporting.trends.page import build_trends_page, describe_trends, render_trends_page
from rules.metrics.figures import Estimate
from rules.studies.metrics.naive import NaiveEstimate, RunComparison
from rules.studies.trends.figures import compute_trends
from rules.studies.trends.reader import read_trends_study
from rules.studies.trends.releases import BOARD_LAUNCHES, MODEL_RELEASES

ROOT = Path(__file__).parents[2]
TRENDS = ROOT / "submissions/published/desislavov2023/trends.json"
NOW = datetime(2026, 11, 23, tzinfo=UTC)


def make_own_row(factor: float, **fields: Any) -> ResultRow:
    """A run with this factor over a naive estimate of 1 000 TFLOP/s and 500 W."""
    estimate = Estimate(factor, 10, 0.1, (factor - 0.1, factor + 0.1))
    naive = RunComparison("measured J per item", NaiveEstimate(1000.0, "peak", 500.0), estimate)
    row = make_run_row(2500.0, "a", naive=naive, **fields)
    assert row.provenance is not None
    declaration: Any = SimpleNamespace(started_at="2026-11-20T10:00:00Z", run_id=f"run-{factor:g}")
    run = replace(row.provenance.run, declaration=declaration, path=Path("c/s/run"))
    return replace(row, provenance=replace(row.provenance, run=run))


def test_own_boards_have_their_sustained_efficiency_at_the_launch() -> None:
    rows = [
        make_own_row(5.0),
        make_own_row(4.0),
        make_own_row(4.0, standing="demo"),
        make_own_row(2.0, workload="llama3-8b-serve"),
    ]
    boards = list_own_boards(rows)
    figures = [(board.domain, board.gflops_per_w.mean) for board in boards]
    assert figures == [("NLP", 1000), ("CV", 500), ("CV", 400)]
    assert boards[1].gflops_per_w.ci95 == pytest.approx((2000 / 4.1, 2000 / 3.9))
    assert boards[0].launch is not None and boards[0].measured == date(2026, 11, 20)
    assert boards[0].launch.released == date(2023, 11, 13)


def test_own_board_without_a_launch_is_in_the_table_and_not_in_the_plot() -> None:
    rows = [make_own_row(4.0), make_own_row(5.0, model="L40S")]
    collected = Collected(rows, [], [], [], [], trends=read_trends_study(TRENDS))
    page = build_trends_page(collected, Path("report.html"))
    assert page is not None
    lines = [
        (row["gflops_per_w"], row["launched"], row["trend"] is None, row["ratio"] is None)
        for row in page.tables["own_boards"].rows
    ]
    assert lines == [(500, "2023-11-13", False, False), (400, None, True, True)]
    assert [board["gflops_per_w"] for board in describe_trends(page, NOW)["own_boards"]] == [500]


def test_own_models_are_measured_models_with_a_release() -> None:
    small = make_result("resnet50", 0.04, 80, flops=8.2e9)
    results = (
        small,
        replace(small, size=288, flops=13.6e9),
        make_result("resnet50", 0.05, 80, flops=8.2e9),
        make_result("unreleased", 0.05, 80, flops=8.2e9),
        in_setup(make_result("vgg16", 0.1, 70, flops=31e9), provenance=DEMO),
    )
    origin = BundleOrigin(Path("a/b/c"), None, TrustLevel.LOCAL, ())
    served = make_own_row(2.0, workload="llama3-8b-serve")
    models = list_own_models([served, make_own_row(2.0)], [StudyRecord(results, origin)])
    assert [(m.release.name, m.domain, m.joules) for m in models] == [
        ("ResNet-50", "CV", 0.04),
        ("LLaMA 3 8B", "NLP", served.joules_per_item.value if served.joules_per_item else None),
    ]
    assert models[0].gflops == pytest.approx(8.2) and models[1].item == "output token"


def test_every_release_has_a_source() -> None:
    for release in (*MODEL_RELEASES.values(), *BOARD_LAUNCHES.values()):
        assert release.url.startswith("https://") and release.released.year > 2010


def test_page_and_json_have_the_figures_of_the_rules() -> None:
    study = read_trends_study(TRENDS)
    figures = compute_trends(study)
    results = (make_result("resnet50", 0.04, 80, flops=8.2e9),)
    record = StudyRecord(results, BundleOrigin(Path("a/b/c"), None, TrustLevel.LOCAL, ()))
    collected = Collected([make_own_row(4.0)], [], [record], [], [], trends=study)
    page = build_trends_page(collected, Path("report.html"))
    assert page is not None
    document = describe_trends(page, NOW)
    (model,) = document["own_models"]
    assert (model["name"], model["joules"], model["gflops"]) == ("ResNet-50", 0.04, 8.2)
    assert document["regressions"] == [line.describe() for line in figures.lines]
    for line in document["regressions"]:
        assert {"name", "n", "intercept", "slope", "r2"} <= line.keys()
        assert {"value", "standard_error", "ci95"} == line["slope"].keys()
    rows = page.tables["lines"].rows
    assert [row["slope"] for row in rows] == pytest.approx([x.slope.value for x in figures.lines])
    assert [row["slope_error"] for row in rows] == pytest.approx(
        [x.slope.standard_error for x in figures.lines]
    )
    (board,) = page.tables["own_boards"].rows
    assert figures.cv_efficiency is not None
    trend = figures.cv_efficiency.compute_value(date(2023, 11, 13))
    assert (board["gflops_per_w"], board["trend"]) == (500, pytest.approx(trend))
    inferred = [m for m in document["models"] if m["status"] == "inferred"]
    assert len(inferred) == 2 and len(document["models"]) == 91 + 19
    with open_drawing_here() as drawing:
        drawing.start(page.drawn_tables)
        html = render_trends_page(page, Path("report.html"), NOW, drawing)
    tree = Tree(html).open[0]
    assert {t.id for t in page.tables.values()} == set(list_table_ids(tree))
    # What was measured here has the hue of its board, as on the main page.
    assert [(board["board"], board["colour"]) for board in document["own_boards"]] == [
        ("H200", GREEN)
    ]
    (board_table,) = (
        e for e in tree.find("table") if e.attributes.get("data-table") == "trends-own-boards"
    )
    heads = [
        head.attributes["data-key"]
        for head in board_table.find("th")
        if "data-key" in head.attributes
    ]
    assert {f"n{heads.index(key) + 1}" for key in ("launched", "measured")} <= {
        *board_table.attributes["class"].split()
    }, "dates do not break"
    columns = {column.key: column for column in page.tables["own_boards"].columns}
    assert format_value(columns["trend"], {**board, "trend": 12.345}) == "12.3"
    (shown,) = [x for x in read_lines(tree, "trends-lines") if "most accurate" in x["name"]][:1]
    assert shown["n"] == 10


def test_page_shows_every_transcribed_table() -> None:
    study = read_trends_study(TRENDS)
    page = build_trends_page(Collected([], [], [], [], [], trends=study), Path("report.html"))
    assert page is not None
    speedups, edge = page.tables["speedups"].rows, page.tables["edge"].rows
    assert len(speedups) == len(study.speedups) == 58
    assert [(row["table"], row["year"]) for row in edge].count(("L.12", "2018")) == 5
    assert {row["table"] for row in edge} == {"L.12", "L.13"} and len(edge) == 23 + 7
    (nano,) = [row for row in edge if row["subject"] == "NVIDIA Jetson Nano"]
    assert (nano["year"], nano["throughput"], nano["power"]) == ("2019", 42.65, 10.0)
    assert nano["energy_per_image"] == 0.238 and "0.2345" in str(nano["note"])


def test_report_writes_the_page_beside_the_main_page(tmp_path: Path) -> None:
    out, tables = tmp_path / "report.html", tmp_path / "tables"
    result = CliRunner().invoke(main, [str(TRENDS), "-o", str(out), "--tables", str(tables)])
    assert result.exit_code == 0, result.output
    assert f"{tmp_path / 'report-trends.html'}: 10 regressions, 0 measured runs" in result.output
    assert 'href="report-trends.html"' in out.read_text(encoding="utf-8")
    assert 'href="report.html"' in (tmp_path / "report-trends.html").read_text(encoding="utf-8")
    everything = json.loads((tables / "trends.json").read_text(encoding="utf-8"))
    assert everything["format"] == "wattmark-trends-report/1"
    ids = {table["id"] for table in everything["tables"]}
    assert {"trends-lines", "trends-models", "trends-later-models"} <= ids
    assert (tables / "trends-lines.csv").exists()


def test_without_a_study_of_trends_there_is_no_page_of_them() -> None:
    assert build_trends_page(Collected([], [], [], [], []), Path("report.html")) is None
