"""Measured energy over the naive estimate, and the table of boards."""

import json
from dataclasses import replace
from typing import Any

import pytest
from support.committed_runs import find_workload_runs
from support.report.result_rows import make_run_row

from reporting.charts import build_charts
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.data_sheets.boards import PRINTED_OTHERWISE, build_board_table
from reporting.sections.data_sheets.naive import build_naive_table
from reporting.sections.repeats import NO_REPEATS, state_intervals
from rules.boards import BOARDS, find_board
from rules.metrics.figures import Estimate, Headline
from rules.metrics.figures_json import figures_from_json
from rules.studies.metrics.naive import (
    NaiveEstimate,
    RunComparison,
    compare_run_with_naive,
    estimate_by_board,
)

GOLDEN = {
    "20261120T170944Z-resnet50-train-baseline-x1-700W-9d3d13": 8.5,
    "20261120T173553Z-resnet50-train-tuned-x1-700W-648e25": 5.4,
    "20261120T172347Z-vitl16-train-baseline-x1-700W-bb67e4": 3.1,
    "20261120T171638Z-vitl16-train-tuned-x1-700W-fa6aa5": 2.2,
    "20261121T211835Z-sd2-train-baseline-x1-700W-8512d5": 3.7,
    "20261120T201629Z-sd2-train-tuned-x1-700W-4b2dff": 2.8,
    "20261121T174117Z-sd2-train-tuned-x1-700W-5e5130": 2.7,
    "20261120T201624Z-llama3-8b-pretrain-tuned-x1-700W-bf5854": 1.5,
    "20261120T202421Z-llama3-8b-pretrain-fp8-x1-700W-54c646": 2.2,
    "20261121T211014Z-llama3-8b-serve-tuned-x1-700W-8e3adf": 2.5,
}
"""Factors of committed runs."""


def _read_runs() -> list[tuple[dict[str, Any], Headline]]:
    results = [json.loads((path / "result.json").read_bytes()) for path in find_workload_runs()]
    return [(result, figures_from_json(result).headline) for result in results]


def test_factor_is_the_share_of_power_over_mfu() -> None:
    board = find_board("H200")
    assert board is not None and board.max_power_w is not None
    factors, efficiencies = {}, {}
    for result, headline in _read_runs():
        precision = result["implementation"]["precision"]
        estimate = estimate_by_board(board, precision)
        assert estimate is not None
        comparison = compare_run_with_naive(headline, estimate)
        assert comparison is not None and headline.mfu is not None
        share_of_power = headline.mean_power_w_per_accelerator.mean / board.max_power_w
        assert comparison.factor.mean == pytest.approx(share_of_power / headline.mfu.mean, rel=1e-3)
        low, high = comparison.factor.ci95 or (0, 0)
        assert low < comparison.factor.mean < high
        assert comparison.numerator == "measured J per item"
        assert f"dense {precision} peak of H200" in comparison.denominator
        assert "700 W" in comparison.denominator
        factors[result["run_id"]] = round(comparison.factor.mean, 1)
        efficiencies[result["run_id"]] = comparison.gflops_per_w.mean
    pretraining = "20261120T201624Z-llama3-8b-pretrain-tuned-x1-700W-bf5854"
    assert round(efficiencies[pretraining]) == 917
    assert {run_id: factors.get(run_id) for run_id in GOLDEN} == GOLDEN


def test_factor_needs_energy_and_mfu() -> None:
    _, headline = _read_runs()[0]
    board = find_board("H200")
    assert board is not None
    estimate = estimate_by_board(board, "bf16")
    assert estimate is not None
    for missing in ("joules_per_item", "mfu"):
        assert compare_run_with_naive(replace(headline, **{missing: None}), estimate) is None


def test_board_without_power_or_rate_has_no_estimate() -> None:
    superchip, turing = find_board("GH200"), find_board("Quadro RTX 6000")
    assert superchip is not None and turing is not None
    assert estimate_by_board(superchip, "bf16") is None
    assert estimate_by_board(turing, "bf16") is None
    assert estimate_by_board(turing, "fp16") is not None


def test_table_of_boards_has_every_board_with_a_source() -> None:
    table = build_board_table()
    assert [row["board"] for row in table.rows] == [board.id for board in BOARDS]
    assert all(row["source"] and str(row["url"]).startswith("https://") for row in table.rows)
    hidden = [column.key for column in table.columns if column.hidden]
    assert hidden == ["url", "other_sources", "names"]
    printed = {row["board"] for row in table.rows if row["printed"]}
    assert printed == PRINTED_OTHERWISE.keys() <= {board.id for board in BOARDS}
    (h200,) = (row for row in table.rows if row["board"] == "H200")
    assert (h200["tf32"], h200["memory_type"], h200["max_power_w"]) == (494.7, "HBM3e", 700)
    (superchip,) = (row for row in table.rows if row["board"] == "GH200")
    assert superchip["max_power_w"] is None


def _build_table(*rows: ResultRow) -> ReportTable | None:
    return build_naive_table(rows, lambda path: path.as_posix())


def test_only_runs_that_are_compared_are_in_the_table_and_the_chart() -> None:
    naive = NaiveEstimate(1000.0, "peak", 500.0)
    estimate = RunComparison("measured J per item", naive, Estimate(4.0, 10, 0.1, (3.9, 4.1)))
    assert estimate.gflops_per_w.mean == 500
    assert estimate.gflops_per_w.ci95 == pytest.approx((2000 / 4.1, 2000 / 3.9))
    run = make_run_row(2500.0, "a", naive=estimate)
    slower = make_run_row(
        2000.0, "b", naive=replace(estimate, factor=Estimate(5.0, 10, 0.1, (4.9, 5.1)))
    )
    (stated,) = state_intervals([run], NO_REPEATS)
    assert stated.naive is not None and stated.joules_per_item is not None
    factor, joules = stated.naive.factor, stated.joules_per_item
    assert factor.ci95 is not None and joules.ci95 is not None
    relative = [end / joules.value for end in joules.ci95]
    assert [end / factor.mean for end in factor.ci95] == pytest.approx(relative)
    table = _build_table(slower, run, replace(run, standing="demo"), replace(run, naive=None))
    assert table is not None
    assert [row["over_naive"] for row in table.rows] == [4, 5]
    assert (table.rows[0]["over_naive_low"], table.rows[0]["naive_estimate"]) == (
        3.9,
        naive.describe(),
    )
    (chart,) = build_charts(table)
    assert "over_naive" in json.dumps(chart.spec) and "2 runs" in chart.alt
    assert _build_table(replace(run, naive=None)) is None
