"""Charts of rows: places of marks, shaded spans, and results that are not compared."""

import math
import re
import statistics
from dataclasses import dataclass, replace
from xml.etree import ElementTree as Xml

import pytest
import vl_convert
from support.report.chart_tables import CHART_TABLES, make_table
from support.report.result_rows import make_run_row
from support.report.row_chart_tables import (
    BOARDS,
    list_row_chart_tables,
    make_energy_table,
    make_epochs_table,
    make_factors_table,
    make_fixed_work_table,
    make_nodes_table,
    make_peak_row,
    make_peaks_table,
    make_repeats,
    make_scaling_table,
    withhold,
)
from support.report.sentence_rows import make_printed_row

from reporting.charts import build_charts
from reporting.charts.chart import Chart
from reporting.charts.encoding import find_look
from reporting.charts.render import fill_spec, to_svg
from reporting.charts.rows.layout import MAX_ROWS
from reporting.charts.style import CONFIG
from reporting.report_table import ReportTable
from rules.metrics.figures import STUDENT_T95


@dataclass(frozen=True)
class Mark:
    """A mark of a picture, in pixels of the plot."""

    left: float
    right: float
    y: float
    is_hollow: bool


def build_chart(table: ReportTable, end: str) -> Chart:
    (chart,) = [chart for chart in build_charts(table) if chart.id.endswith(end)]
    return chart


def read_picture(chart: Chart) -> Xml.Element:
    svg = vl_convert.vegalite_to_svg(fill_spec(chart, chart.width_px), config=CONFIG)
    return Xml.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def read_shift(element: Xml.Element) -> tuple[float, float]:
    shift = re.search(r"translate\((-?[\d.]+),(-?[\d.]+)\)", element.get("transform") or "")
    return (float(shift[1]), float(shift[2])) if shift else (0.0, 0.0)


def list_dashes(root: Xml.Element, height_px: int) -> list[tuple[float, float]]:
    """The upper and lower ends of the dashes of a line of the grid, which begins at the lower end
    of the plot."""
    (grid, *_) = [g for g in root.iter("g") if "role-axis-grid" in (g.get("class") or "")]
    line = grid[0]
    dash, gap = map(float, (line.get("stroke-dasharray") or "1,0").split(","))
    begins = [
        height_px - n * (dash + gap) + float(line.get("stroke-dashoffset") or 0)
        for n in range(int(height_px / (dash + gap)) + 1)
    ]
    return [(begin - dash, begin) for begin in begins]


def read_marks(chart: Chart, kind: str) -> list[Mark]:
    """The marks of a kind, such as `symbol`, from top to bottom, then from left to right."""
    root = read_picture(chart)
    marks = []
    for group in root.iter("g"):
        names = (group.get("class") or "").split()
        if f"mark-{kind}" not in names or "role-mark" not in names:
            continue
        for element in group:
            x, y = read_shift(element)
            box = re.match(r"M(-?[\d.]+),(-?[\d.]+)h(-?[\d.]+)v(-?[\d.]+)", element.get("d") or "")
            left, width = (float(box[1]), float(box[3])) if box else (0.0, 0.0)
            width += float(element.get("x2") or 0)
            y += float(box[2]) + float(box[4]) / 2 if box else 0
            ends = sorted((x + left, x + left + width))
            marks.append(Mark(*ends, y, element.get("fill-opacity") == "0"))
    return sorted(marks, key=lambda mark: (mark.y, mark.left))


def test_run_that_is_not_compared_comes_last_though_it_needs_the_least_energy() -> None:
    points = read_marks(build_chart(make_energy_table(make_repeats()), "-energy"), "symbol")
    assert [point.is_hollow for point in points] == [False] * 4 + [True]
    compared = [point.left for point in points[:-1]]
    assert compared == sorted(compared)
    assert points[-1].left < compared[0]


def test_distribution_of_many_runs_has_the_first_of_them() -> None:
    power = CHART_TABLES[-1]
    chart = build_chart(replace(power, rows=power.rows * MAX_ROWS), "-spread")
    assert f" of {MAX_ROWS} runs." in chart.alt and chart.about.startswith(f"First {MAX_ROWS} of")


def test_board_spread_is_shaded_from_the_lowest_mean_of_a_compared_setting() -> None:
    table = make_energy_table(make_repeats())
    chart = build_chart(table, "-energy")
    points = read_marks(chart, "symbol")
    # Each row has a span of its own.
    spans = read_marks(chart, "rect")
    assert [span.y for span in spans] == pytest.approx([point.y for point in points])
    (shaded,) = {(span.left, span.right): span for span in spans}.values()
    lowest, slowest = 700 / 7500, 700 / 5000
    mean = statistics.fmean((700 / 7500, 700 / 7400, 700 / 7300))
    px_per_joule = (points[3].left - points[0].left) / (slowest - lowest)
    start = points[0].left + (mean - lowest) * px_per_joule
    assert shaded.left == pytest.approx(start, abs=0.1)
    limit = float(str(table.rows[0]["board_limit_percent"]))
    width = mean * limit / 100 * px_per_joule
    assert shaded.right - shaded.left == pytest.approx(width, abs=0.2)
    # 1.5 % in the rule book x 2.145 x the root of 2, as a factor.
    assert limit == pytest.approx(4.66, abs=0.01)
    assert "Shaded: single runs on two boards that are so near" in chart.about


@pytest.mark.parametrize(("slowest", "is_logarithmic"), [(5000, False), (80, True)])
def test_energies_that_differ_by_factors_have_a_logarithmic_axis(
    slowest: float, is_logarithmic: bool
) -> None:
    rates = (8000, math.sqrt(8000 * slowest), slowest)
    table = make_energy_table([make_run_row(rate, BOARDS[0], batch_size=1) for rate in rates])
    chart = build_chart(table, "-energy")
    low, middle, high = (point.left for point in read_marks(chart, "symbol"))
    assert (high - middle == pytest.approx(middle - low, abs=0.2)) is is_logarithmic
    assert ("Logarithmic axis." in chart.about) is is_logarithmic


def test_board_spread_is_shaded_from_a_closed_run_though_an_open_one_needs_less_energy() -> None:
    open_run = make_run_row(9000, BOARDS[1], precision="fp8", standing="open")
    chart = build_chart(make_energy_table([open_run, *make_repeats()]), "-energy")
    points, spans = read_marks(chart, "symbol"), read_marks(chart, "rect")
    # The first row has the open run, the next three have those of the closed setting.
    assert points[1].left < spans[0].left < points[3].left
    assert "so near the lowest mean of a closed setting" in chart.about


def test_caption_of_tuned_variants_is_short() -> None:
    pair = make_table("tuned", {"items_per_s_per_accelerator": 2.0, "baseline_rate": 1.0})
    table = replace(pair, about="A sentence on the table. " * 9)
    assert len(build_chart(table, "-pairs").about) < 200


@pytest.mark.parametrize("table", list_row_chart_tables(), ids=lambda table: table.id)
def test_names_of_rows_cross_no_span_and_no_line_of_the_grid(table: ReportTable) -> None:
    for chart in build_charts(table):
        root = read_picture(chart)
        texts = [text for text in root.iter("text") if text.get("font-size") == "11px"]
        # Names of rows begin at the left edge. Those of boards are in the middle of their rows.
        names = [
            (y - 8, y)
            for text in texts
            for x, y in [read_shift(text)]
            if x == 2 and not re.fullmatch(r"…\w{4}", text.text or "")
        ]
        spans = [
            (y, y + height)
            for path in root.iter("path")
            if path.get("opacity") == "0.13"
            for y, height in [
                map(float, re.findall(r"^M[^,]+,([^h]+)h[^v]+v([^h]+)", path.get("d"))[0])
            ]
        ]
        for top, bottom in spans + list_dashes(root, chart.spec["height"]):
            assert all(bottom <= start or end <= top for start, end in names), chart.id


def test_runs_that_are_compared_with_nothing_have_no_shade() -> None:
    table = make_energy_table(make_repeats())
    alone = [{**row, "board_limit_percent": None} for row in table.rows]
    chart = build_chart(ReportTable(table.id, table.title, table.columns, tuple(alone)), "-energy")
    assert not read_marks(chart, "rect")
    assert "Shaded" not in chart.about


def test_each_bar_of_scaling_has_a_row_with_its_mark_of_perfect_scaling() -> None:
    chart = build_chart(make_scaling_table((2, 1.9), (4, 3.6), (4, 4.1)), "-bars")
    rects = read_marks(chart, "rect")
    bars = [mark for mark in rects if mark.left == 0]
    ticks = [mark for mark in rects if 0 < mark.right - mark.left <= 2]
    assert len(bars) == len(ticks) == 3
    px_per_speed_up = bars[0].right / 1.9
    for bar, tick, speed_up, count in zip(bars, ticks, (1.9, 3.6, 4.1), (2, 4, 4), strict=True):
        assert bar.y == pytest.approx(tick.y, abs=1)
        assert bar.right == pytest.approx(speed_up * px_per_speed_up, abs=0.5)
        assert (tick.left + tick.right) / 2 == pytest.approx(count * px_per_speed_up, abs=0.5)
    assert [bar.is_hollow for bar in bars] == [False, False, True]
    assert chart.table.rows[0]["board_limit_percent"] == pytest.approx(4.66, abs=0.01)


def test_repeats_lie_as_far_from_their_mean_as_their_energy_is() -> None:
    chart = build_chart(make_epochs_table(make_repeats()), "-repeats")
    points = read_marks(chart, "symbol")
    # The mean of the three compared runs; the fourth run of the setting is hollow.
    joules = [700 / rate for rate in (7600, 7500, 7400, 7300)]
    mean = sum(joules[1:]) / 3
    off_percent = [100 * (value / mean - 1) for value in joules]
    px_per_percent = (points[3].left - points[0].left) / (off_percent[3] - off_percent[0])
    for point, percent in zip(points, off_percent, strict=True):
        expected = points[0].left + (percent - off_percent[0]) * px_per_percent
        assert point.left == pytest.approx(expected, abs=0.2)
    assert [point.is_hollow for point in points] == [True, False, False, False]
    # Each board has a row.
    assert len({point.y for point in points}) == 4
    # The interval of another run, by the spread in the rule book, reaches beyond the right edge,
    # and ends there.
    half_percent = 1.5 * STUDENT_T95[13] * (1 + 1 / 3) ** 0.5
    zero = points[0].left - off_percent[0] * px_per_percent
    (interval,) = read_marks(chart, "rule")
    assert interval.left == pytest.approx(zero - half_percent * px_per_percent, abs=0.2)
    assert points[3].left < interval.right < chart.width_px
    assert interval.right < zero + half_percent * px_per_percent
    names = read_texts(chart)
    assert [name for name in names if name.startswith("…")] == [f"…{b[-4:]}" for b in BOARDS]
    assert any(name.endswith("J/image, n = 3") for name in names)


def get_colour(model: str) -> str:
    return find_look({"model": model, "standing": "published"}).colour


def read_texts(chart: Chart) -> list[str]:
    return [text.text or "" for text in Xml.fromstring(to_svg(chart)).iter("text")]


@pytest.mark.parametrize(
    ("name", "is_whole"),
    [("W" * 40, True), ("W" * 200, False), ("i" * 100, True), ("i" * 150, False)],
)
def test_name_of_a_row_is_shortened_from_its_beginning_only_if_it_is_wide_or_long(
    name: str, is_whole: bool
) -> None:
    table = make_energy_table(make_repeats())
    rows = tuple({**row, "line": name} for row in table.rows)
    texts = [
        text
        for text in read_texts(build_chart(replace(table, rows=rows), "-energy"))
        if name[:2] in text
    ]
    assert texts
    assert all((name in text) == is_whole and text.startswith("…") != is_whole for text in texts)


def test_names_of_repeats_end_with_the_end_of_their_bundle() -> None:
    table = make_energy_table(make_repeats())
    rows = tuple(
        {**row, "line": "single" if place == 4 else "repeats", "bundle": f"round/run-{place}abcde"}
        for place, row in enumerate(table.rows)
    )
    chart = build_chart(replace(table, rows=rows), "-energy")
    names = {text for text in read_texts(chart) if text.startswith(("single", "repeats"))}
    assert names == {"single · 700 W", *(f"repeats · 700 W · …{n}abcde" for n in range(4))}
    assert "last letters of their bundle" in chart.about
    alone = replace(table, rows=rows[3:])
    assert "last letters" not in build_chart(alone, "-energy").about


def test_names_of_runs_that_differ_in_batch_size_end_with_it() -> None:
    table = make_energy_table(make_repeats())
    batches = (256, 512, 512, 1024, 256)
    rows = tuple(
        {
            **row,
            "line": "single" if place == 4 else "run",
            "batch": batch,
            "bundle": f"run-{place}abcde",
        }
        for place, (row, batch) in enumerate(zip(table.rows, batches, strict=True))
    )
    chart = build_chart(replace(table, rows=rows), "-energy")
    names = {text for text in read_texts(chart) if text.startswith(("single", "run"))}
    assert names == {
        "single · 700 W",
        "run · 700 W · batch 256",
        "run · 700 W · batch 512 · …1abcde",
        "run · 700 W · batch 512 · …2abcde",
        "run · 700 W · batch 1024",
    }


def test_single_runs_have_no_chart_of_repeats() -> None:
    rows = [make_run_row(7500, BOARDS[0]), make_run_row(5000, BOARDS[1], batch_size=64)]
    assert build_charts(make_epochs_table(rows)) == []


def test_demo_runs_without_intervals_are_in_the_chart_of_energy() -> None:
    rows = [make_run_row(rate, BOARDS[0], standing="demo", batch_size=1) for rate in (7000, 8000)]
    without = [
        replace(row, joules_per_item=replace(row.joules_per_item, ci95=None))
        for row in rows
        if row.joules_per_item
    ]
    chart = build_chart(make_energy_table(without), "-energy")
    assert len(read_marks(chart, "symbol")) == 2
    assert chart.title == "Energy per item" and "Bars" not in chart.about
    with_intervals = build_chart(make_energy_table(rows), "-energy")
    assert with_intervals.title == "Energy per item with 95 % intervals"


def test_published_energy_is_not_in_the_chart_of_energy() -> None:
    printed = [make_printed_row(cap, 900) for cap in (400, 700)]
    table = make_energy_table([*printed, *make_repeats()])
    assert len(read_marks(build_chart(table, "-energy"), "symbol")) == 5
    assert not [c for c in build_charts(make_energy_table(printed)) if c.id.endswith("-energy")]


def test_achieved_flops_are_a_share_of_the_peak_of_the_precision() -> None:
    chart = build_chart(make_factors_table(), "-peak")
    points = read_marks(chart, "symbol")
    ticks = [mark for mark in read_marks(chart, "rect") if mark.right - mark.left <= 2]
    px_per_tflops = (ticks[-1].left + 1) / 2000
    expected = [(500, False), (600, False), (800, True)]
    for point, (tflops, is_hollow) in zip(points, expected, strict=True):
        assert point.left == pytest.approx(tflops * px_per_tflops, abs=0.5)
        assert point.is_hollow == is_hollow
    assert points[0].y == points[1].y < points[2].y, "repeats share a row"
    assert {"55 %", "40 %"} <= set(read_texts(chart))


def read_shares(table: ReportTable) -> list[str]:
    """The shares of the peak that the chart writes, from top to bottom."""
    texts = Xml.fromstring(to_svg(build_chart(table, "-peak"))).iter("text")
    shares = [text for text in texts if (text.text or "").endswith(" %")]
    return [text.text or "" for text in sorted(shares, key=lambda text: read_shift(text)[1])]


def test_share_of_the_peak_is_never_a_mean_over_batch_sizes() -> None:
    """The chart shows the batch size nearest to the peak, as the mean over its own repeats."""
    rows = [
        make_peak_row(share, board, batch_size=batch)
        for batch, shares in ((64, (0.2,)), (256, (0.5, 0.54)), (512, (0.3,)))
        for share, board in zip(shares, BOARDS, strict=False)
    ]
    table = make_peaks_table(*rows)
    assert read_shares(table) == ["52 %"]
    chart = build_chart(table, "-peak")
    assert len(read_marks(chart, "symbol")) == 2
    assert "node · tuned bf16 · 700 W · batch 256 · resnet50-train" in read_texts(chart)
    assert "Of settings that differ in batch size or load only: the one nearest" in chart.about
    assert len(read_marks(build_chart(table, "-marks"), "symbol")) == 2


def test_share_of_the_peak_is_never_a_mean_over_the_loads_of_a_server() -> None:
    shares = (0.03, 0.05, 0.09, 0.14, 0.19, 0.24, 0.22)
    rows = [
        make_peak_row(share, BOARDS[0], batch_size=2 ** (place + 3))
        for place, share in enumerate(shares)
    ]
    assert read_shares(make_peaks_table(*rows)) == ["24 %"]


def test_share_of_the_peak_is_never_a_mean_over_options() -> None:
    """Two runs of pre-training that differ in recomputation only."""
    rows = [
        make_peak_row(share, BOARDS[0], batch_size=4, options={"recompute": state})
        for share, state in ((0.6, "off"), (0.4, "on"))
    ]
    table = make_peaks_table(*rows)
    assert read_shares(table) == ["60 %"]
    assert "node · tuned bf16 · 700 W · recompute off · resnet50-train" in [
        name.replace(" · batch 4", "") for name in read_texts(build_chart(table, "-peak"))
    ]


def test_setting_that_may_not_win_hides_no_other_though_it_is_nearer_to_the_peak() -> None:
    older = withhold(make_peak_row(0.7, BOARDS[0], batch_size=64))
    row = make_peak_row(0.5, BOARDS[1], batch_size=256)
    assert read_shares(make_peaks_table(older, row)) == ["50 %"]
    assert read_shares(make_peaks_table(older)) == ["70 %"]


def test_settings_of_other_caps_and_precisions_have_rows_of_their_own() -> None:
    rows = [
        make_peak_row(0.5, BOARDS[0]),
        make_peak_row(0.4, BOARDS[0], cap_w=400.0),
        make_peak_row(0.3, BOARDS[0], precision="fp8", peak_tflops=2000),
    ]
    assert sorted(read_shares(make_peaks_table(*rows))) == ["30 %", "40 %", "50 %"]


def test_fixed_work_of_two_kinds_is_never_on_one_axis() -> None:
    table = make_fixed_work_table(
        ("pretraining", "H100", 64, 90.0),
        ("pretraining", "H100", 512, 50.0),
        ("images", "H200", 64, 0.9),
        ("images", "H200", 512, 0.5),
        ("serving", "B200", 64, 9.0),
    )
    charts = build_charts(table)
    assert [(chart.id, chart.title) for chart in charts] == [
        (
            f"fixed-work-batch-{place}",
            f"Energy of 10\u202f000\u202f000 images of {work} against batch size",
        )
        for place, work in ((1, "pretraining"), (2, "images"))
    ]
    for chart, board in zip(charts, ("H100", "H200"), strict=True):
        assert len(read_marks(chart, "symbol")) == 2
        svg = to_svg(chart)
        assert [model for model in ("H100", "H200") if get_colour(model) in svg] == [board]
        low, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
        assert high / low < 3, "its axis fits its own energies"


def test_nodes_of_one_size_share_a_chart() -> None:
    table = make_nodes_table()
    (chart,) = build_charts(table)
    assert chart.id == "whole-nodes-8"
    assert chart.source == "1 bundle; Latif et al. 2024"
    boxes = [mark for mark in read_marks(chart, "rect") if mark.right - mark.left > 2]
    quartiles = max(boxes, key=lambda box: -(box.right - box.left))
    px_per_w = quartiles.left / 6800
    assert quartiles.right == pytest.approx(7400 * px_per_w, abs=0.2)
    median, maximum = read_marks(chart, "symbol")
    assert median.left == pytest.approx(6000 * px_per_w, abs=0.2)
    assert maximum.left == pytest.approx(6500 * px_per_w, abs=0.2)


@pytest.mark.parametrize("table", list_row_chart_tables(), ids=lambda table: table.id)
def test_picture_is_small_and_its_caption_complete(table: ReportTable) -> None:
    # As many rows as a chart holds, each a line of its own.
    rows = tuple(
        {**row, "line": f"{row['line']} · example system number {n}"}
        for n in range(8)
        for row in table.rows
    )
    charts = build_charts(ReportTable(table.id, table.title, table.columns, rows))
    assert charts
    for chart in charts:
        assert len(to_svg(chart)) <= 15_000
        assert chart.source and chart.about and chart.alt
