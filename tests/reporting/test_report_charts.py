"""Charts draw what their tables hold and nothing else, in the page, without scripts, and in files
for papers."""

import copy
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import altair
import numpy as np
import pytest
from support.report.chart_tables import (
    CHART_TABLES,
    NODE,
    list_charts,
    make_bundle,
    make_result,
    make_results,
    make_table,
    mark_fronts,
)
from support.report.html import unpack_tables

from reporting.charts import build_charts, compact, draw
from reporting.charts.chart import Chart
from reporting.charts.encoding import GREEN, PALETTE
from reporting.charts.labels.layout import Plot, PlotPoint, place_labels
from reporting.charts.render import to_svg
from reporting.charts.style import ROW_NUMBER, assign_styles
from reporting.page_data import share_cells
from reporting.report_table import to_record
from reporting.traces import build_trace_table, summarize_power
from rules.metrics.power.profile import envelope, with_node_overhead


def test_every_kind_of_table_has_its_charts() -> None:
    ends = {chart.id.removeprefix("resnet50-train-") for chart in list_charts()}
    assert ends == {
        *("results-caps", "results-saving", "results-efficiency", "results-energy"),
        *("hill-small", "scaling-bars", "tuned-pairs"),
        *("power-spread", "power-sm", "trace-1-power", "epochs-repeats"),
        *("llama3-8b-serve-serving-energy", "llama3-8b-serve-serving-throughput"),
        *("naive-factors-peak", "naive-factors-marks", "whole-nodes-8"),
    }
    assert build_charts(make_table("serving", {"cap_w": 700.0})) == []
    assert build_charts(make_table("system-1", {"cap_w": 700.0})) == []


@pytest.mark.parametrize("chart", list(list_charts()), ids=lambda chart: chart.id)
def test_spec_is_sound_vega_lite_and_names_its_table(chart: Chart) -> None:
    altair.Chart.from_dict(
        copy.deepcopy(chart.spec)
    )  # raises where the spec does not follow the schema
    assert {"name": chart.table.id} in data_of(chart.spec)
    assert chart.title and chart.about and chart.alt
    known = set(chart.table.keys)
    spec_text = json.dumps(chart.spec)
    drawn = set(re.findall(r'"field": "(\w+)"', spec_text))
    computed = set(re.findall(r'"as": "(\w+)"', spec_text))
    # The page numbers the rows, and labels refer to these numbers.
    assert drawn - known <= {*computed, ROW_NUMBER, "label"}, "a field that no column has"


def data_of(spec: Any) -> list[Any]:
    """All data that a spec names."""
    if isinstance(spec, dict):
        own = [spec["data"]] if "data" in spec else []
        return own + [d for inner in spec.values() for d in data_of(inner)]
    return [d for inner in spec for d in data_of(inner)] if isinstance(spec, list) else []


@pytest.mark.parametrize("chart", list(list_charts()), ids=lambda chart: chart.id)
def test_spec_holds_no_figure_of_its_table(chart: Chart) -> None:
    inline = [row for rows in chart.spec.get("datasets", {}).values() for row in rows]
    assert all(row.keys() <= {ROW_NUMBER, "label", "dx", "dy"} for row in inline), (
        "only places of labels, by the number of the row"
    )


def points_of(svg: str, colour: str) -> list[tuple[float, float]]:
    """Where the shapes of a colour begin, from the left, in pixels of the plot."""
    found = []
    for path in Xml.fromstring(svg).iter("path"):
        if path.get("stroke") == colour and path.get("stroke-width") == "1.5":
            shift = re.fullmatch(
                r"translate\((-?[\d.]+),(-?[\d.]+)\)", path.get("transform", "translate(0,0)")
            )
            assert shift is not None
            for x, y in re.findall(r"M(-?[\d.]+),(-?[\d.]+)", path.get("d", "")):
                found.append((float(x) + float(shift[1]), float(y) + float(shift[2])))
    return sorted(found)


def test_points_of_the_picture_lie_where_the_rows_say() -> None:
    (chart,) = [c for c in build_charts(make_results()) if c.id.endswith("-caps")]
    (x0, y0), (x1, y1), (x2, y2) = points_of(to_svg(chart), GREEN)[-3:]
    # The figure is the cap over 100: caps of 300, 500 and 700 W are equally far apart on both axes.
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert x1 > x0 and y1 < y0


def test_point_whose_cap_did_not_hold_is_hollow_at_its_requested_cap() -> None:
    doubted = make_result(500.0, 500.0, 2.0, line="b", power_w=560.0, doubt="It did not hold.")
    (chart,) = [c for c in build_charts(make_results(doubted)) if c.id.endswith("-caps")]
    svg = to_svg(chart)
    xs = [round(x) for x, _ in points_of(svg, GREEN)[-4:]]
    assert len(set(xs)) == 3, "two of the points are at 500 W"
    assert svg.count('fill-opacity="0"') == 1


@pytest.mark.parametrize("shape", ["circle", "square", "diamond", "triangle-up", "cross"])
def test_short_picture_draws_the_same_shapes(shape: str) -> None:
    import vl_convert

    at = [(random.Random(n).uniform(0, 99), random.Random(-n).uniform(0, 99)) for n in range(1, 6)]
    chart = altair.Chart(altair.InlineData(values=[{"x": x, "y": y} for x, y in at])).mark_point(
        shape=shape, strokeWidth=1.5
    )
    spec = chart.encode(x="x:Q", y="y:Q").properties(width=300, height=200).to_dict()
    whole = vl_convert.vegalite_to_svg(spec)
    short = compact.shorten_svg(whole)
    assert len(short) < len(whole) / 2
    assert area(whole) == pytest.approx(area(short), abs=1.0)


def area(svg: str) -> list[float]:
    """Left, top, right and bottom of all the points of a picture together: the pen is followed
    through every command."""
    xs, ys = [], []
    for path in Xml.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', "")).iter("path"):
        if path.get("stroke-width") != "1.5":
            continue
        shift = re.fullmatch(
            r"translate\((-?[\d.]+),(-?[\d.]+)\)", path.get("transform", "translate(0,0)")
        )
        assert shift is not None
        x = y = 0.0
        for command, numbers in re.findall(r"([MLAlahvHV])([-\d.,]*)", path.get("d", "")):
            values = [float(v) for v in numbers.split(",")]
            if command in "MLA":
                x, y = values[-2:]
            elif command in "la":
                x, y = x + values[-2], y + values[-1]
            elif command in "hv":
                x, y = (x + values[0], y) if command == "h" else (x, y + values[0])
            xs.append(x + float(shift[1]))
            ys.append(y + float(shift[2]))
    return [min(xs), min(ys), max(xs), max(ys)]


def test_charts_are_drawn_in_processes_by_one_that_has_drawn_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRAW_TWICE],
        cwd=Path(__file__).parent,
        capture_output=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.split() == [b"5", b"5", b"True"]


_DRAW_TWICE = """
import sys
sys.path[:0] = ["../..", "..", "."]
if __name__ == "__main__":
    from support.report.chart_tables import CHART_TABLES
    from reporting.charts import build_charts, draw
    from reporting.charts.render import to_svg
    from dataclasses import replace
    to_svg(build_charts(CHART_TABLES[0])[0])
    ids = [f"w{n}-" + table.id.rpartition("-")[2] for n, table in enumerate(CHART_TABLES)]
    tables = [replace(table, id=name) for table, name in zip(CHART_TABLES, ids, strict=True)]
    drawn = draw(tables)
    same = all(one.svg == to_svg(one.chart) for of in drawn.values() for one in of)
    print(len(drawn), sum(bool(of) for of in drawn.values()), same)
"""


def test_text_of_strangers_is_no_markup_in_a_picture() -> None:
    hostile = "<script>alert(1)</script>&amp;"
    made = make_results(make_result(400.0, 100.0, 1.0, line=hostile, model=hostile))
    named = set()
    for drawn in draw([made])[made.id]:
        assert "<script" not in drawn.svg
        texts = [text.text or "" for text in Xml.fromstring(drawn.svg).iter("text")]
        named |= {drawn.chart.id.rpartition("-")[2]} if any(hostile in t for t in texts) else set()
    assert {"efficiency", "caps"} <= named, "the legends name the board"


def test_what_is_in_doubt_or_cannot_be_looks_so() -> None:
    held, doubted, crossed = (
        to_svg(build_charts(made)[0])
        for made in (
            make_results(),
            make_results(make_result(400.0, 500.0, 2.0, line="b", doubt="no")),
            make_results(make_result(400.0, 500.0, 2.0, line="b", implausible="no")),
        )
    )
    assert "fill-opacity" not in held and 'fill-opacity="0"' in doubted
    # A cross is two strokes in the colour of the text.
    crosses = [
        p
        for p in Xml.fromstring(crossed).iter("path")
        if p.get("stroke-width") == "1.4" and p.get("opacity") == "0.9"
    ]
    assert (
        len(crosses) == 1
        and "Crossed"
        in build_charts(make_results(make_result(400.0, 500.0, 2.0, line="b", implausible="no")))[
            0
        ].about
    )
    assert "Hollow" not in build_charts(make_results())[0].about


def test_line_has_the_look_of_its_board_setting_and_provenance_whatever_else_is_drawn() -> None:
    rows = [
        {"line": "tuned", "model": "H200", "standing": "closed", **_BF16},
        {"line": "baseline", "model": "H200", "standing": "closed", **_BF16, "variant": "baseline"},
        {"line": "paper", "model": "H200", "standing": "published"},
        {"line": "demo", "model": "H200", "standing": "demo", **_BF16, "provenance": "simulated"},
        {"line": "other", "model": "H100", "standing": "closed", **_BF16},
    ]
    styles = assign_styles(rows)
    colour, shape, dash = (
        dict(zip(scale.domain, scale.range, strict=True))
        for scale in (styles.colour, styles.shape, styles.dash)
    )
    assert len({colour[line] for line in ("tuned", "baseline", "paper", "demo")}) == 1
    assert colour["other"] != colour["tuned"]
    assert shape["tuned"] == shape["demo"] == shape["other"] != shape["baseline"]
    assert dash["tuned"] == dash["baseline"] == (1, 0)
    assert len({dash[line] for line in ("tuned", "paper", "demo")}) == 3
    for row in rows:
        alone = assign_styles([row])
        assert (alone.colour.range, alone.shape.range) == (
            [colour[str(row["line"])]],
            [shape[str(row["line"])]],
        )


_BF16 = {"variant": "tuned", "precision": "bf16"}


@pytest.mark.parametrize(
    ("fields", "is_faint"),
    [
        ({}, False),
        ({"standing": "published"}, True),
        ({"standing": "demo", "provenance": "simulated"}, True),
    ],
)
def test_points_are_faint_unless_measured(fields: dict[str, Any], is_faint: bool) -> None:
    (chart,) = [
        chart
        for chart in build_charts(
            make_table("results", *(make_result(c, c, 900 / c, **fields) for c in (300.0, 700.0)))
        )
        if chart.id.endswith("-caps")
    ]
    assert ('fill-opacity="0.3"' in to_svg(chart)) == is_faint


def test_lines_of_one_look_share_an_entry_of_the_legend() -> None:
    rows = [{"line": line, "model": "H200", "standing": "closed", **_BF16} for line in ("a", "b")]
    legend = assign_styles(rows).legend
    assert legend.values == ["a"] and "H200 · tuned bf16" in legend.labelExpr


def test_colours_of_charts_stand_out_on_paper_and_card_in_both_themes() -> None:
    css = (Path(__file__).parents[2] / "reporting/templates/report.css").read_text()
    backgrounds = [
        "#" + "".join(2 * c for c in name) if len(name) == 3 else f"#{name}"
        for name in re.findall(r"--(?:paper|card): #([0-9a-f]+)", css)
    ]
    drawn = {
        colour.casefold()
        for chart in list_charts()
        for colour in re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(without_areas(chart.spec)))
    }
    assert len(backgrounds) >= 4 and drawn
    for colour in {*drawn, *(colour.casefold() for colour in PALETTE)}:
        ratios = [contrast(colour, background) for background in backgrounds]
        assert min(ratios) >= 3, f"{colour} on {backgrounds[ratios.index(min(ratios))]}"


def without_areas(spec: Any) -> Any:
    """The spec without the shades of epochs, which are areas behind the marks."""
    if isinstance(spec, dict):
        if spec.get("encoding", {}).get("x2", {}).get("field") == "end":
            return {}
        return {key: without_areas(value) for key, value in spec.items()}
    return [without_areas(value) for value in spec] if isinstance(spec, list) else spec


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2, section 1.4.11)."""
    darker, lighter = sorted(map(luminance, (first, second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_simulated_results_say_so_across_the_plot() -> None:
    def count_words(**fields: Any) -> float:
        table = make_table(
            "results", *(make_result(cap, cap, 900 / cap, **fields) for cap in (300.0, 700.0))
        )
        svgs = [to_svg(chart) for chart in build_charts(table)]
        assert svgs
        return [text.text or "" for svg in svgs for text in Xml.fromstring(svg).iter("text")].count(
            "simulated"
        ) / len(svgs)

    assert count_words(provenance="simulated") == 1 and count_words(provenance="measured") == 0


def test_peak_and_front_leave_out_what_is_in_doubt() -> None:
    rows = [
        make_result(300.0, 100.0, 5.0, line="a", standing="closed"),
        make_result(400.0, 200.0, 4.0, line="a", standing="closed"),
        make_result(500.0, 150.0, 3.0, line="a", standing="closed"),
        make_result(200.0, 300.0, 9.0, line="a", standing="closed", doubt="The cap did not hold."),
        make_result(
            700.0, 900.0, 8.0, line="p", standing="published", implausible="exceeds the peak"
        ),
        make_result(600.0, 900.0, 1.0, line="p", standing="published"),
        make_result(700.0, 50.0, 1.5, line="alone", standing="closed"),
    ]
    marked = mark_fronts(rows)
    assert [row["peak"] for row in marked] == [True, False, False, False, False, False, False]
    assert [row["front"] for row in marked] == [True, True, False, False, False, True, False]


def test_switch_of_the_node_can_move_the_peak() -> None:
    low = {**make_result(200.0, 100.0, 0.50), NODE: with_node_overhead(100.0, 200.0)}
    high = {**make_result(400.0, 190.0, 0.475), NODE: with_node_overhead(190.0, 400.0)}
    marked = mark_fronts([{"line": "a", "standing": "closed", **row} for row in (low, high)])
    assert [row["peak"] for row in marked] == [True, False]
    assert [row["peak_node"] for row in marked] == [False, True]


def test_node_adds_a_quarter_of_100_w_per_accelerator() -> None:
    assert with_node_overhead(1000.0, 475.0) == pytest.approx(2.0)


def test_labels_overlap_no_label_and_no_point_at_any_width() -> None:
    random.seed(7)
    plot = Plot(least_width_px=220, greatest_width_px=640, height_px=200, font_px=10)
    points = [
        PlotPoint(n, random.random(), (random.uniform(0, 200), random.uniform(0, 200)), 5, "700")
        for n in range(24)
    ]
    labels = place_labels(points, [points[:6]], plot)
    assert len(labels) >= 8, "there is room for some"
    for width in range(220, 641, 5):
        for state in (0, 1):
            marks = [(p.x_share * width, p.y_px[state], p.radius_px, p.radius_px) for p in points]
            boxes = [
                (
                    points[at.row].x_share * width + at.dx_px,
                    points[at.row].y_px[state] + at.dy_px,
                    9,
                    5,
                )
                for at in labels
            ]
            for n, box in enumerate(boxes):
                for other in (*boxes[:n], *marks):
                    apart = abs(box[0] - other[0]) >= box[2] + other[2] - 0.2
                    assert apart or abs(box[1] - other[1]) >= box[3] + other[3] - 0.2
                assert 9 <= box[0] <= width - 9 and 5 <= box[1] <= 195


def test_first_point_gets_the_label_that_has_no_room_twice() -> None:
    plot = Plot(least_width_px=40, greatest_width_px=40, height_px=60, font_px=10)
    crowd = [PlotPoint(n, 0.5, (30 + n / 10,), 4, "700") for n in range(6)]
    assert next(label.row for label in place_labels(crowd, [], plot)) == 0
    assert len(place_labels(crowd, [], plot)) < 6


def test_labels_keep_off_the_line_where_there_is_room() -> None:
    plot = Plot(least_width_px=400, greatest_width_px=400, height_px=200, font_px=10)
    line = [PlotPoint(n, x, (y,), 4, "700") for n, (x, y) in enumerate(((0.5, 0.0), (0.5, 199.0)))]
    middle = PlotPoint(2, 0.5, (100.0,), 4, "700")
    (label,) = [a for a in place_labels([middle, *line], [line], plot) if a.row == 2]
    assert abs(label.dx_px) >= 9, "not above the point, where the line is"


def test_hill_labels_each_cap_once_and_peaks_and_default_caps_in_its_small_form() -> None:
    rows = [
        make_result(cap, rate, 5.0 - abs(cap - 400) / 100, standing="closed")
        for cap, rate in ((300.0, 100.0), (400.0, 300.0), (400.0, 310.0), (700.0, 1200.0))
    ]
    charts = build_charts(make_table("results", *mark_fronts([{"line": "a", **r} for r in rows])))
    texts = {
        chart.id.removeprefix("resnet50-train-"): [
            text.text
            for text in Xml.fromstring(to_svg(chart)).iter("text")
            if text.get("font-size") in ("9px", "10px")
        ]
        for chart in charts
        if "hill" in chart.id or chart.id.endswith("efficiency")
    }
    assert sorted(texts["hill-small"]) == ["700", "H200 \u00b7 400"]
    assert sorted(text or "" for text in texts["results-efficiency"]) == ["300", "400", "700"]


def test_trace_keeps_only_readings_and_the_extremes() -> None:
    made = make_bundle()
    found = build_trace_table(made, "x-trace-1", 60)
    uuid = next(iter(made.accelerator_ranks))
    read = made.samples_of[uuid].floats("power_mw") / 1e3
    read = read[np.isfinite(read)]
    lows, highs = [row["low_w"] for row in found.rows], [row["high_w"] for row in found.rows]
    assert set(lows) | set(highs) <= set(read), "the extremes are readings"
    assert all(row["low_w"] <= row["mean_w"] + 0.1 for row in found.rows if row["n"] > 9)
    assert (min(lows), max(highs)) == (read.min(), read.max())
    assert len(found.rows) <= 60 and sum(row["n"] for row in found.rows) == len(read)
    assert {row["epoch"] for row in found.rows if row["scored"]} == set(range(1, 11))
    assert any(row["scored"] is False and row["epoch"] == 0 for row in found.rows)
    assert {(row["cap_w"], row["rated_w"]) for row in found.rows} == {(700, 700)}


def test_envelope_leaves_gaps_where_nothing_was_read() -> None:
    found = list(envelope(np.array([0.0, 1.0, 9.0, 10.0]), np.array([5.0, 7.0, 6.0, 8.0]), 5))
    assert [(b.from_s, b.low_w, b.high_w, b.n) for b in found] == [
        (0.0, 5.0, 7.0, 2),
        (8.0, 6.0, 8.0, 2),
    ]


def test_spread_is_of_the_scored_readings() -> None:
    made = make_bundle()
    read = made.scored_samples.floats("power_mw") / 1e3
    found = summarize_power(made)
    assert found is not None
    assert (found.min_w, found.median_w, found.max_w) == (
        read.min(),
        np.median(read),
        read.max(),
    )
    assert found.p95_w == pytest.approx(np.percentile(read, 95))


def test_what_is_stored_once_is_whole_again() -> None:
    records = [to_record(made) for made in (*CHART_TABLES, *CHART_TABLES)]
    short = share_cells(records)
    assert unpack_tables(short) == records
    said, stored = (
        json.dumps(t, sort_keys=True)
        for t in (records, unpack_tables(json.loads(json.dumps(short))))
    )
    assert stored == said, "True is no 1, and 1 is no 1.0"
