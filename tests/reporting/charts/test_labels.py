"""Labels of points overlap no mark and no other label."""

import itertools
import math
import random
from typing import Any
from xml.etree import ElementTree as Xml

import altair as alt
import numpy as np
import pytest
from support.report.chart_tables import make_result, make_table, mark_fronts

from reporting.charts import build_charts
from reporting.charts.encoding import GREEN, find_look
from reporting.charts.labels.layout import Plot, PlotPoint, place_labels
from reporting.charts.render import to_svg
from reporting.charts.style import make_log_axis


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
                for neighbour in (*boxes[:n], *marks):
                    apart = abs(box[0] - neighbour[0]) >= box[2] + neighbour[2] - 0.2
                    assert apart or abs(box[1] - neighbour[1]) >= box[3] + neighbour[3] - 0.2
                assert 9 <= box[0] <= width - 9 and 5 <= box[1] <= 195


def test_first_point_gets_the_label_that_has_no_room_twice() -> None:
    plot = Plot(least_width_px=40, greatest_width_px=40, height_px=60, font_px=10)
    crowd = [PlotPoint(n, 0.5, (30 + n / 10,), 4, "700") for n in range(6)]
    assert next(label.row for label in place_labels(crowd, [], plot)) == 0
    assert len(place_labels(crowd, [], plot)) < 6


def test_labels_keep_off_the_line_where_there_is_room() -> None:
    plot = Plot(least_width_px=400, greatest_width_px=400, height_px=200, font_px=10)
    ends = ((0.5, 0.0), (0.5, 199.0), (0.9, 199.0))
    line = [PlotPoint(n, x, (y,), 4, "700") for n, (x, y) in enumerate(ends)]
    middle = PlotPoint(3, 0.5, (100.0,), 4, "700")
    (label,) = [a for a in place_labels([middle, *line], [line], plot) if a.row == 3]
    assert abs(label.dx_px) >= 9, "not above the point, where the line is"


def test_leader_may_leave_its_point_at_an_angle() -> None:
    """The box around a slanted leader overlaps that around its own point."""
    plot = Plot(least_width_px=300, greatest_width_px=600, height_px=300, font_px=10)
    crowd = ((0.478, 158), (0.511, 149), (0.477, 139), (0.494, 137), (0.524, 134), (0.509, 168))
    marks = [PlotPoint(n, x_share, (y_px,), 6) for n, (x_share, y_px) in enumerate(crowd, start=1)]
    (label,) = place_labels([PlotPoint(0, 0.5, (150,), 6, "700"), *marks], [], plot)
    assert label.leader is not None and 0 not in label.leader


def test_label_without_room_beside_its_point_has_a_leader_over_no_mark_and_no_label() -> None:
    plot = Plot(least_width_px=300, greatest_width_px=300, height_px=200, font_px=10)
    # Two points above leave a gap that is too narrow for the label, but not for its leader.
    places = [(-9, -13), (9, -13), (-14, 0), (14, 0), (-9, 13), (0, 14), (9, 13)]
    crowd = [PlotPoint(n, 0.5 + dx / 300, (100.0 + dy,), 4) for n, (dx, dy) in enumerate(places)]
    middle = PlotPoint(len(places), 0.5, (100.0,), 4, "700")
    (label,) = place_labels([middle, *crowd], [], plot)
    assert label.leader is not None and label.dx_px == 0
    x0, y0, x1, y1 = label.leader
    assert math.hypot(x0, y0) == pytest.approx(5.5, abs=0.2), "begins at the edge of the mark"
    assert abs(x1 - label.dx_px) <= 10 and abs(y1 - label.dy_px) <= 6, "ends at the label"
    for point in crowd:
        dx, dy = (point.x_share - 0.5) * 300, point.y_px[0] - 100
        for share in np.linspace(0, 1, 30):
            x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
            assert max(abs(x - dx), abs(y - dy)) > point.radius_px - 0.1


def test_label_in_a_crowd_stays_near_its_point() -> None:
    """Four published points of an H200 at 400 to 700 W, and a run beside them."""
    plot = Plot(least_width_px=420, greatest_width_px=900, height_px=310, font_px=10)
    caps = {
        "400": (0.415, 104.4),
        "500": (0.478, 111.8),
        "600": (0.505, 124.3),
        "700": (0.520, 137.5),
    }
    curve = [
        PlotPoint(n, x_share, (y_px,), 10.7, label=cap)
        for n, (cap, (x_share, y_px)) in enumerate(caps.items())
    ]
    run = PlotPoint(4, 0.535, (125.0,), 4.7, label="700")
    labels = place_labels([*curve, run], [curve], plot)
    assert len(labels) == 5
    for label in labels:
        point = [*curve, run][label.row]
        half_width_px, half_height_px = len(label.text) * 3.1, 5.5
        apart = math.hypot(
            max(0, abs(label.dx_px) - half_width_px), max(0, abs(label.dy_px) - half_height_px)
        )
        assert apart - point.radius_px < 10, label


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
            if text.get("font-size") in ("9px", "10px", "11px")
        ]
        for chart in charts
        if "hill" in chart.id or chart.id.endswith("efficiency")
    }
    assert sorted(texts["hill-small"]) == ["700", "H200 \u00b7 400"]
    assert sorted(text or "" for text in texts["results-efficiency"]) == ["300", "400", "700"]


def read_small_hill(*rows: dict[str, Any]) -> Xml.Element:
    charts = build_charts(make_table("results", *mark_fronts(rows)))
    (chart,) = (chart for chart in charts if chart.id.endswith("hill-small"))
    return Xml.fromstring(to_svg(chart))


def make_published_row(cap_w: float, rate: float) -> dict[str, Any]:
    fields = {"line": "paper", "model": "H100", "standing": "published"}
    return make_result(cap_w, rate, rate / cap_w, **fields)


def test_small_hill_shows_measured_points_and_published_ones_only_without_any() -> None:
    measured = [
        {"line": "a", "model": "H200"} | make_result(cap, rate, rate / cap, standing="closed")
        for cap, rate in ((400.0, 5000.0), (700.0, 7000.0))
    ]
    published = [make_published_row(cap, cap) for cap in (300.0, 500.0)]
    alone, together = read_small_hill(*measured), read_small_hill(*published, *measured)
    # Its axes fit the measured points, which are ten times as high as the published ones.
    assert Xml.tostring(alone) == Xml.tostring(together)
    for colour, root in ((GREEN, together), (get_colour("H100"), read_small_hill(*published))):
        drawn = {path.get("stroke") for path in root.iter("path")}
        assert drawn & {GREEN, get_colour("H100")} == {colour}


def get_colour(model: str) -> str:
    return find_look({"model": model}).colour


def test_texts_of_the_small_hill_are_no_smaller_than_11_px() -> None:
    rows = [
        {"line": "a", "model": "H200"} | make_result(cap, cap, 2.0 - cap / 700, standing="closed")
        for cap in (300.0, 500.0, 700.0)
    ]
    sizes_px = [
        float(size.removesuffix("px"))
        for element in read_small_hill(*rows).iter()
        if (size := element.get("font-size"))
    ]
    assert sizes_px and min(sizes_px) >= 11


@pytest.mark.parametrize(
    "values", [(7000.0, 9000.0), (0.0811, 0.0899), (1.26, 1.49), (12.1, 12.9), (100.0, 90000.0)]
)
def test_logarithmic_axis_has_three_round_ticks_within_its_ends(values: tuple[float, ...]) -> None:
    encoding = make_log_axis(alt.X, "key", "title", values).to_dict()
    low, high = encoding["scale"]["domain"]
    ticks = encoding["axis"]["values"]
    assert len(ticks) >= 3 and ticks == sorted(ticks)
    assert low <= ticks[0] and ticks[-1] <= high
    # One or two digits beyond those that all ticks share.
    step = min(after - before for before, after in itertools.pairwise(ticks))
    assert all(abs(tick / step - round(tick / step)) < 1e-6 for tick in ticks)


def test_lines_of_the_hill_join_points_of_one_batch_size() -> None:
    rows = [
        {"line": "a", "batch": batch} | make_result(cap, rate, rate / cap, standing="closed")
        for batch, cap, rate in ((64, 300.0, 100.0), (64, 700.0, 300.0), (256, 700.0, 1200.0))
    ]
    charts = build_charts(make_table("results", *mark_fronts(rows)))
    (hill,) = (chart for chart in charts if chart.id.endswith("hill-small"))
    lines = [
        path.get("d", "")
        for path in Xml.fromstring(to_svg(hill)).iter("path")
        if path.get("stroke-width") == "1.3"
    ]
    assert sum(line.count("L") for line in lines) == 1, lines
