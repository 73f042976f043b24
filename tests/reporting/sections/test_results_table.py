"""The compact columns of the table of results, and its charts."""

from support.report.result_rows import make_run_row
from support.report.row_chart_tables import BOARDS, LINK, make_energy_table

from reporting.charts.hill import build_hill_charts
from reporting.sections.results import build_results_table
from rules.workloads import workloads


def test_load_is_a_compact_column_if_results_differ_in_it() -> None:
    repeats = [make_run_row(7000, board, batch_size=64) for board in BOARDS]
    assert "batch" not in make_energy_table(repeats).compact_keys
    other_load = make_run_row(7500, BOARDS[0], batch_size=128)
    assert "batch" in make_energy_table([*repeats, other_load]).compact_keys


def test_single_result_has_no_small_chart() -> None:
    rows = [make_run_row(7000 + 100 * n, board) for n, board in enumerate(BOARDS)]
    ids = [chart.id for chart in build_hill_charts(make_energy_table(rows))]
    assert ids == ["resnet50-train-results-efficiency", "resnet50-train-hill-small"]
    (chart,) = build_hill_charts(make_energy_table(rows[:1]))
    assert chart.id == ids[0]


def test_load_of_a_server_is_its_requests_in_flight() -> None:
    rows = [make_run_row(7000, BOARDS[0], batch_size=64)]
    titles = {
        id: build_results_table(workloads()[id], rows, LINK, "results", "Results")
        .get_column("batch")
        .label
        for id in ("llama3-8b-serve", "resnet50-train")
    }
    assert titles == {"llama3-8b-serve": "in flight, requests", "resnet50-train": "batch, samples"}
