"""The titles of charts that state a finding, and their alternative texts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.report.chart_tables import list_charts
from support.report.result_rows import make_run_row
from support.report.sentence_rows import (
    make_axis_sweep,
    make_capped_row,
    make_printed_row,
    make_sweep,
)

from reporting.charts import build_charts
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS, measure_spread
from reporting.sections.sweeps.axes import AxisSweep, SweptAxis
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences import operating_points
from reporting.sentences.charts import ChartText, describe_charts, list_titles
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
RESULTS = "resnet50-train-results"


def get_titles(rows: Sequence[ResultRow], *sweeps: CapSweep) -> dict[str, str]:
    return list_titles(RESNET, rows, sweeps, measure_spread(rows))


def make_table(kind: str, *rows: dict[str, Any]) -> ReportTable:
    """A table of measured rows with the columns that the rows have."""
    usual = {"standing": "closed", "provenance": "measured"}
    keys = dict.fromkeys(key for row in (usual, *rows) for key in row)
    columns = tuple(Column(key, key, "W" if key.endswith("_w") else "", "number") for key in keys)
    return ReportTable(f"resnet50-train-{kind}", "", columns, tuple({**usual, **r} for r in rows))


def get_text(table: ReportTable, name: str) -> ChartText:
    return describe_charts([table], {})[table.id][f"{table.id}-{name}"]


def test_efficiency_title_names_the_best_setting_and_published_peaks() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(500, "b", batch_size=64)]
    rows += [make_printed_row(cap, rate) for cap, rate in ((300, 500), (400, 900), (500, 1000))]
    titles = get_titles(rows)
    assert titles[f"{RESULTS}-efficiency"] == (
        "NVIDIA H200, tuned bf16 is most efficient: 1.429\u202fimages/J at 700\u202fW; "
        "published curve peaks "
        "at 400\u202fW"
    )
    assert titles[f"{RESULTS}-energy"] == (
        "NVIDIA H200, tuned bf16 needs the least energy per image: 0.7000\u202fJ/image"
    )
    assert titles[f"{RESULTS}-caps"] == (
        "Published H200: 11\u202f% less energy per image at the most efficient cap than at the "
        "highest"
    )
    assert titles[f"{RESULTS}-saving"] == (
        "Published: the most efficient cap saves 11\u202f% of the energy for 10\u202f% less "
        "throughput (H200)"
    )


def test_published_figure_that_may_not_be_compared_moves_no_peak() -> None:
    rows = [make_run_row(1000, "a")]
    rows += [make_printed_row(cap, rate) for cap, rate in ((300, 500), (400, 900), (500, 1000))]
    forbidden = make_printed_row(350, 9000, comparison="none")
    assert get_titles([*rows, forbidden]) == get_titles(rows)
    second = [replace(row, model="H100", cap_w=(row.cap_w or 0) + 50) for row in rows[1:]]
    title = get_titles([*rows, *second])[f"{RESULTS}-efficiency"]
    assert title.endswith("; published curves peak at 400\u2013450\u202fW")


def test_titles_on_published_peaks_name_the_boards_that_have_one() -> None:
    """The lowest comparable cap of MI300X is its most efficient one, so its peak is not known."""
    rows = [
        make_printed_row(cap, rate, model=model)
        for model in ("H200", "H100")
        for cap, rate in ((300, 500), (400, 900), (500, 1000))
    ]
    rows += [make_printed_row(cap, rate, model="MI300X") for cap, rate in ((400, 900), (500, 901))]
    titles = get_titles(rows)
    assert titles[f"{RESULTS}-caps"] == (
        "Published H200 and H100: 11\u202f% less energy per image at the most efficient cap than "
        "at the highest"
    )
    assert titles[f"{RESULTS}-saving"] == (
        "Published: the most efficient caps save 11\u202f% of the energy for 10\u202f% less "
        "throughput (H200) and 11\u202f% for 10\u202f% (H100)"
    )


def test_title_on_the_peaks_of_many_boards_has_ranges() -> None:
    rows = [
        make_printed_row(cap, rate, model=model)
        for place, model in enumerate(("H200", "H100", "A100", "B200"))
        for cap, rate in ((300, 500), (400, 900 - 20 * place), (500, 1000))
    ]
    assert get_titles(rows)[f"{RESULTS}-saving"] == (
        "Published: the most efficient caps save 4.8\u202f% to 11\u202f% of the energy for "
        "10\u202f% to 16\u202f% less throughput (H200, H100, A100 and B200)"
    )


def test_series_of_which_only_the_shape_is_compared_has_titles_on_its_caps() -> None:
    caps = ((300, 500), (400, 900), (500, 1000))
    rows = [make_printed_row(cap, rate, comparison="shape") for cap, rate in caps]
    titles = get_titles(rows)
    assert titles[f"{RESULTS}-efficiency"] == "Published curve peaks at 400\u202fW"
    assert titles[f"{RESULTS}-saving"].startswith("Published: the most efficient cap saves 11")
    marked = make_table("results", {"energy_gain_percent": 11.0, "withheld": "only the shape"})
    text = describe_charts([marked], {f"{RESULTS}-saving": "A finding"})[RESULTS]
    assert text[f"{RESULTS}-saving"] == ChartText(
        "A finding", "A finding. 1 point is not compared. The table has the same values."
    )


def test_titles_say_that_a_setting_and_a_cap_are_alone() -> None:
    titles = get_titles([make_run_row(1000, "a"), make_printed_row(400, 900, comparison="none")])
    assert titles[f"{RESULTS}-efficiency"] == (
        "NVIDIA H200, tuned bf16 is the only compared setting: 1.429\u202fimages/J at 700\u202fW"
    )
    assert titles[f"{RESULTS}-energy"] == (
        "NVIDIA H200, tuned bf16 is the only compared setting: 0.7000\u202fJ/image"
    )
    assert titles[f"{RESULTS}-caps"] == (
        "Only 700\u202fW was measured; published figures are not compared"
    )


def test_titles_of_ties_say_that_settings_cannot_be_told_apart() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(995, "b", batch_size=64)]
    titles = get_titles(rows)
    assert titles[f"{RESULTS}-efficiency"] == (
        "2 settings cannot be told apart as most efficient: 1.421\u20131.429\u202fimages/J"
    )
    assert titles[f"{RESULTS}-energy"] == (
        "2 settings cannot be told apart as those of least energy per image"
    )


def test_title_says_closed_where_open_results_are_in_the_chart() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(3000, "b", standing="open", precision="fp8")]
    assert get_titles(rows)[f"{RESULTS}-efficiency"].startswith("Closed: NVIDIA H200, tuned bf16")


def test_chart_without_a_comparison_has_no_finding() -> None:
    assert get_titles([make_run_row(1000, "a", standing="demo")]) == {}
    assert get_titles([make_printed_row(700, 1000, comparison="none")]) == {}


def test_sweep_titles_state_the_greatest_saving_and_its_cost() -> None:
    rows = [make_capped_row(cap, rate) for cap, rate in ((400, 760), (500, 850), (700, 1000))]
    titles = get_titles(rows, make_sweep(rows))
    assert titles[f"{RESULTS}-caps"] == (
        "node · tuned bf16 needs 25\u202f% less energy per image at 400\u202fW than at 700\u202fW"
    )
    assert titles[f"{RESULTS}-saving"] == (
        "node · tuned bf16 saves 25\u202f% of the energy at 400\u202fW for 32\u202f% more time"
    )


def test_title_of_a_sweep_that_is_not_closed_says_so() -> None:
    rows = [make_capped_row(cap, rate, standing="open") for cap, rate in ((400, 760), (700, 1000))]
    title = get_titles(rows, make_sweep(rows))[f"{RESULTS}-caps"]
    assert title.startswith("node · tuned bf16 (open) needs 25\u202f% less energy")


@pytest.mark.parametrize("relative_error", [1e-9, 0.3, None])
def test_sweep_without_clear_savings_says_so(relative_error: float | None) -> None:
    """3 % of energy between two single runs, whatever the intervals within them."""
    rows = [make_capped_row(400, 590), make_capped_row(700, 1000)]
    titles = get_titles(rows, make_sweep(rows, relative_error))
    assert titles[f"{RESULTS}-caps"] == (
        "Energy per image cannot be told apart from that at 700\u202fW"
    )
    assert titles[f"{RESULTS}-saving"] == (
        "No cap saves energy against 700\u202fW that can be told apart from none"
    )


def test_cap_that_did_not_hold_is_in_no_title() -> None:
    rows = [make_capped_row(cap, rate) for cap, rate in ((400, 990), (500, 850), (700, 1000))]
    rows[0] = replace(rows[0], cap_enforced=False)
    assert "at 500\u202fW" in get_titles(rows, make_sweep(rows))[f"{RESULTS}-caps"]


def get_scaling_title(*rates: float, **fields: Any) -> str:
    """The title of runs on four accelerators with these rates per accelerator, beside two runs on
    one, of which the mean is 1000."""
    ones = [make_run_row(rate, board) for rate, board in ((990, "a"), (1010, "b"))]
    fours = [
        make_run_row(rate, *(f"{place}{letter}" for letter in "abcd"), **fields)
        for place, rate in enumerate(rates)
    ]
    return get_titles([*ones, *fours]).get("resnet50-train-scaling-bars", "")


def test_scaling_title_compares_with_perfect_scaling() -> None:
    assert get_scaling_title(800) == "4 accelerators have 3.20 times the throughput of one"
    # 2.5 % less than perfect: less than a single run on other boards is told apart by.
    assert get_scaling_title(975) == (
        "The speed-up of 4 accelerators, 3.90, cannot be told apart from perfect scaling"
    )
    assert get_scaling_title(1100) == "4 accelerators have 4.40 times the throughput of one"


def test_scaling_title_has_the_mean_over_the_repeats_and_not_the_better_one() -> None:
    assert get_scaling_title(1002.5, 957.5) == (
        "The speed-up of 4 accelerators, 3.92 in the mean of 2 runs, cannot be told apart from "
        "perfect scaling"
    )
    assert get_scaling_title(1000, 700, 700) == (
        "4 accelerators have 3.20 times the throughput of one in the mean of 3 runs"
    )


def test_scaling_title_takes_the_fastest_setting_on_most_accelerators_that_may_win() -> None:
    slow = make_run_row(700, *"efgh", batch_size=64)
    pair = make_run_row(999, "e", "f")
    failed = make_run_row(900, *"ijklmnop", cap_enforced=False)
    ones = [make_run_row(1000, board) for board in "ab"]
    four = make_run_row(800, *"abcd")
    assert get_titles([*ones, slow, pair, failed, four])["resnet50-train-scaling-bars"] == (
        "4 accelerators have 3.20 times the throughput of one"
    )


def test_runs_without_one_on_one_accelerator_have_no_scaling_title() -> None:
    assert get_scaling_title(800, cap_w=400.0) == ""
    assert get_scaling_title(800, implausible="above the peak") == ""
    assert get_scaling_title() == ""


def test_title_of_variants_follows_the_verdicts_of_the_table() -> None:
    rate = {"items_per_s_per_accelerator": 900, "baseline_rate": 500}
    faster = {**rate, "variant": "tuned", "rate_told": "higher", "rate_percent": 80.0}
    equal = {**rate, "rate_told": "not told apart", "rate_percent": 9.0}
    slower = {**rate, "rate_told": "lower", "rate_percent": -9.0}
    for rows, title in (
        ([faster], "The tuned variant has 80\u202f% more throughput than the baseline"),
        ([faster, equal], "1 of 2 variants has 80\u202f% more throughput than the baseline"),
        ([equal], "Variants and baseline cannot be told apart in throughput"),
        ([slower], "No variant has more throughput than its baseline"),
    ):
        assert get_text(make_table("tuned", *rows), "pairs").title == title


def make_factors_table(*rows: dict[str, Any]) -> ReportTable:
    return replace(make_table("factors", *rows), id="naive-factors")


@pytest.mark.parametrize("mark", ["doubt", "implausible", "withheld"])
def test_marked_rows_and_demo_runs_are_in_no_finding(mark: str) -> None:
    row = {"over_naive": 2.0, mark: None}
    table = make_factors_table(row, {"over_naive": 9.0, mark: "a reason"})
    text = get_text(table, "marks")
    assert text.title == "Measured energy per item is 2.0 times the naive estimate"
    assert "9" not in text.alt and "1 point is not compared" in text.alt
    demo = make_factors_table(row | {"standing": "demo"}, row | {"provenance": "simulated"})
    assert get_text(demo, "marks").title == ""


def test_settings_that_a_chart_leaves_out_are_in_none_of_its_texts() -> None:
    """Of loads that differ in batch size only, the chart of peaks shows the nearest to the peak."""
    shares = ((58.0, True), (41.0, False), (12.0, False))
    table = make_factors_table(
        *(
            {"mfu_percent": share, "achieved_tflops": share, "in_chart": shown}
            for share, shown in shares
        ),
    )
    text = get_text(table, "peak")
    assert text.title == "Runs reach 58\u202f% of the dense peak"
    assert text.alt.startswith(f"{text.title}. 1 measured point: achieved_tflops 58")


def test_power_title_has_the_drawn_medians_under_each_cap() -> None:
    rows = [
        {"cap_w": cap, "mean_w": 1.0, "median_w": median}
        for cap, median in ((500.0, 490.0), (700.0, 680.0), (700.0, 690.0))
    ]
    assert get_text(make_table("power", *rows), "spread").title == (
        "Median power is 490\u202fW under a cap of 500\u202fW, 680\u2013690\u202fW under a "
        "cap of 700\u202fW"
    )


def test_alternative_text_has_ranges_by_provenance() -> None:
    table = make_table(
        "results",
        {"joules_per_item": 0.9, "cap_w": 700.0},
        {"joules_per_item": 0.5, "cap_w": 300.0, "standing": "published"},
    )
    assert get_text(table, "caps").alt == (
        "1 measured point: joules_per_item 0.9000; cap_w 700\u202fW. 1 published point: "
        "joules_per_item 0.5000; cap_w 300\u202fW. The table has the same values."
    )


def test_chart_takes_its_text_and_keeps_its_title_without_a_finding() -> None:
    table = make_factors_table(
        {
            "over_naive": 2.0,
            "over_naive_low": 1.0,
            "over_naive_high": 3.0,
            "line": "a",
            "model": "H200",
            "cap_w": 700.0,
            "setting": "a",
            "in_chart": True,
        },
    )
    chart_id = f"{table.id}-marks"
    (neutral,) = build_charts(table)
    (chart,) = build_charts(table, {chart_id: ChartText("A finding", "A finding. Ranges.")})
    assert (chart.id, chart.title, chart.alt) == (chart_id, "A finding", "A finding. Ranges.")
    (chart,) = build_charts(table, {chart_id: ChartText("", "Ranges.")})
    assert (chart.title, chart.alt) == (neutral.title, "Ranges.")


def test_every_chart_has_an_alternative_text_with_its_ranges() -> None:
    """A renamed chart would lose its text."""
    charts = [chart for chart in list_charts() if not chart.id.endswith("-front")]
    assert len(charts) > 10
    for chart in charts:
        texts = describe_charts([chart.table], {})[chart.table.id]
        assert "The table has the same values." in texts[chart.id].alt


def test_small_hill_keeps_its_title_and_states_the_finding_in_its_alternative_text() -> None:
    table = make_table("results", {"items_per_joule": 2.0})
    texts = describe_charts([table], {f"{table.id}-efficiency": "A finding"})
    small = texts[table.id]["resnet50-train-hill-small"]
    assert small.title == "" and small.alt.startswith("A finding. 1 measured point: ")


def test_small_hill_counts_measured_points_alone_where_there_are_any() -> None:
    measured = {"items_per_joule": 2.0}
    published = {"items_per_joule": 5.0, "standing": "published", "provenance": "published"}
    for rows, points in (
        ((measured, published), "1 measured point: items_per_joule 2."),
        ((published, published), "2 published points: items_per_joule 5."),
    ):
        table = make_table("results", *rows)
        text = describe_charts([table], {})[table.id]["resnet50-train-hill-small"]
        assert text.alt == f"{points} The table has the same values."


def test_energy_chart_counts_measured_energy_alone() -> None:
    rows = [
        {"joules_per_item": 2.0, "joules_per_item_kind": kind}
        for kind in ("measured", "assumed", "measured")
    ]
    assert get_text(make_table("results", *rows), "energy").alt == (
        "2 measured points: joules_per_item 2. The table has the same values."
    )


def test_title_of_repeats_has_their_greatest_distance() -> None:
    rows = [{"off_mean_percent": -1.5, "runs": 2}, {"off_mean_percent": 1.5, "runs": 2}]
    table = make_table("epochs", *rows, {"off_mean_percent": 0.0, "runs": 1})
    text = get_text(table, "repeats")
    assert text.title == "Repeats differ by up to 1.5\u202f% from the mean energy of their setting"
    assert "2 measured points: off_mean_percent \u22121.500 to 1.500." in text.alt


def test_nodes_of_one_size_have_a_text_of_their_own() -> None:
    columns = (
        Column("accelerators", "accelerators"),
        Column("median_w", "median", "W"),
        Column("max_w", "maximum", "W"),
        Column("mean_w", "mean", "W"),
        *(Column(key, key) for key in ("max_percent", "what", "standing")),
    )
    node = {"standing": "published", "what": "8 \u00d7 H100", "median_w": None, "max_w": None}
    rows = tuple(
        {**node, "accelerators": count, "median_w": watts, "max_w": watts + 100.0}
        | {"max_percent": watts / 100}
        for count, watts in ((4, 2000.0), (8, 5000.0), (8, 6000.0))
    )
    table = ReportTable(
        "whole-nodes", "", columns, (*rows, {**node, "accelerators": 8, "mean_w": 7000.0})
    )
    text = describe_charts([table], {})["whole-nodes"]["whole-nodes-8"]
    assert text.title == (
        "Published nodes with 8 \u00d7 H100 draw at most 50\u202f% to 60\u202f% of their rated "
        "power"
    )
    assert "3 published points: median 5\u202f000\u20136\u202f000\u202fW; maximum " in text.alt
    assert "mean 7\u202f000\u202fW" in text.alt


def make_fixed_work(*rows: dict[str, Any]) -> ReportTable:
    usual = {"standing": "published", "in_chart": True, "work": "pretraining", "line": "a"}
    return replace(make_table("work", *({**usual, **row} for row in rows)), id="fixed-work")


def test_title_of_published_batch_sizes_names_the_one_of_least_energy() -> None:
    rows = [{"batch": batch, "node_kwh": kwh} for batch, kwh in ((512, 123.0), (4096, 30.0))]
    assert get_text(make_fixed_work(*rows), "batch-1").title == (
        "Published: batch size 4\u202f096 needs 76\u202f% less energy than batch size 512"
    )
    for cell in ({"line": "b"}, {"standing": "closed"}, {"node_kwh": None}):
        table = make_fixed_work(rows[0], rows[1] | cell)
        assert get_text(table, "batch-1").title == ""


def test_texts_on_fixed_work_are_on_one_kind_of_work_each() -> None:
    energies = {"pretraining": (100.0, 50.0), "serving": (9.0, 3.0)}
    table = make_fixed_work(
        *(
            {"work": work, "line": f"a {work}", "batch": batch, "node_kwh": kwh}
            for work, kwh_of_work in energies.items()
            for batch, kwh in zip((512, 4096), kwh_of_work, strict=True)
        ),
        # A configuration with one batch size is in no chart.
        {"work": "images", "line": "b", "batch": 64, "node_kwh": 1.0, "in_chart": False},
    )
    texts = describe_charts([table], {})["fixed-work"]
    assert {chart_id: (text.title, text.alt) for chart_id, text in texts.items()} == {
        f"fixed-work-batch-{place}": (
            title,
            f"{title}. 2 published points: node_kwh {ends}; batch 512\u20134\u202f096. The table "
            "has the same values.",
        )
        for place, ends, title in (
            (
                1,
                "50\u2013100",
                "Published: batch size 4\u202f096 needs 50\u202f% less energy than batch size 512",
            ),
            (
                2,
                "3\u20139",
                "Published: batch size 4\u202f096 needs 67\u202f% less energy than batch size 512",
            ),
        )
    }


def test_chart_of_servers_names_the_best_number_of_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = workloads()["llama3-8b-serve"]
    rows = [
        make_run_row(rate, "a", workload=workload.id, batch_size=batch)
        for batch, rate in ((64, 500), (128, 1000))
    ]

    def find_sweeps(axis: SweptAxis, rows: Sequence[ResultRow]) -> list[AxisSweep]:
        return [make_axis_sweep(rows)] if axis.name == "concurrency" else []

    monkeypatch.setattr(operating_points, "find_axis_sweeps", find_sweeps)
    titles = list_titles(workload, rows, [], NO_REPEATS)
    title = "128 requests in flight need the least energy per output token of 2 values"
    assert titles["llama3-8b-serve-concurrency-efficiency"] == title
    assert titles["llama3-8b-serve-serving-energy"] == title
