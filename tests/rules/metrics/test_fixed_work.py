"""Time and energy of a fixed amount of work, and the published runs of Latif et al. 2024."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.report.chart_tables import validate_spec

from reporting.charts import build_charts
from reporting.paper import Paper
from reporting.sections.nodes.fixed_work import build_fixed_work_table
from rules.metrics.figures import Estimate
from rules.metrics.fixed_work import compute_fixed_work

PUBLISHED = Path(__file__).parents[3] / "submissions/published"


def test_work_by_hand() -> None:
    """1 000 items at 10 items/s and 5 J each: 100 s, 5 kJ, 50 W; with 20 W beside, 7 kJ."""
    joules = Estimate(5.0, 10, None, (4.9, 5.1))
    work = compute_fixed_work(1000, 10, joules)
    assert (work.seconds, work.energy_j.mean, work.mean_power_w) == (100, 5000, 50)
    assert work.energy_j.ci95 == (pytest.approx(4900), pytest.approx(5100))
    whole = compute_fixed_work(1000, 10, joules, rest_w=20)
    assert (whole.energy_j.mean, whole.mean_power_w) == (7000, 70)
    assert whole.energy_j.ci95 == (pytest.approx(6900), pytest.approx(7100))


def test_published_runs_of_latif_are_the_printed_ones() -> None:
    paper = Paper.from_document(json.loads((PUBLISHED / "latif2024.json").read_text()))
    table = build_fixed_work_table([], [paper], Path.as_posix)
    assert table is not None
    by_batch = {row["batch"]: row for row in table.rows}
    large, small = by_batch[4096], by_batch[512]
    shown = [
        [row[key] for key in ("hours", "node_kw", "node_kwh", "items")] for row in (small, large)
    ]
    assert shown == [[26, 4.68, 123, 1e7], [5, 6.26, 30, 1e7]]
    joules = [round(float(str(row["node_joules_per_item"])), 1) for row in (small, large)]
    assert joules == [44.3, 10.8]
    assert [row["ratio"] for row in (small, large)] == [pytest.approx(4.1), 1]
    assert list(by_batch) == [4096, 512], "the least energy comes first"
    (chart,) = build_charts(table)
    assert chart.id == "fixed-work-batch-1" and "2 points" in chart.alt
    validate_spec(chart.spec)


def test_works_share_no_chart_and_each_is_named() -> None:
    """Items of different work are different things, so their energies share no axis."""
    paper = Paper.from_document(json.loads((PUBLISHED / "latif2024.json").read_text()))
    assert paper.fixed_work is not None
    other_work = [replace(work, work="Training of another model") for work in paper.fixed_work]
    both = replace(paper, fixed_work=[*paper.fixed_work, *other_work])
    table = build_fixed_work_table([], [both], Path.as_posix)
    assert table is not None and len(table.rows) == 4
    charts = build_charts(table)
    assert [chart.id for chart in charts] == ["fixed-work-batch-1", "fixed-work-batch-2"]
    for chart, title in zip(charts, ("ResNet-152", "Training of another model"), strict=True):
        assert title in chart.title and "2 points" in chart.alt
        validate_spec(chart.spec)


def test_work_at_a_single_batch_size_has_no_chart() -> None:
    paper = Paper.from_document(json.loads((PUBLISHED / "koszczal2023.json").read_text()))
    table = build_fixed_work_table([], [paper], Path.as_posix)
    assert table is not None and len(table.rows) == 6
    assert build_charts(table) == []


def test_table_needs_runs_or_published_work() -> None:
    assert build_fixed_work_table([], [], Path.as_posix) is None
