"""The mean line and the look of power over time."""

from xml.etree import ElementTree as Xml

import numpy as np
from support.report.chart_tables import make_bundle

from reporting.charts import build_charts
from reporting.charts.chart import Chart
from reporting.charts.encoding import find_look
from reporting.charts.render import to_svg
from reporting.traces import build_trace_table
from rules.metrics.power.profile import average_around


def build_chart(provenance: str) -> Chart:
    (chart,) = build_charts(build_trace_table(make_bundle(), "w-trace-1", provenance=provenance))
    return chart


def test_mean_holds_the_readings_within_half_a_second() -> None:
    times_s = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    power_w = np.array([100.0, 200.0, 300.0, 400.0, 1000.0])
    means_w = average_around(times_s, power_w, np.array([0.0, 1.0, 9.0]))
    assert means_w[:2].tolist() == [150.0, 300.0]
    assert np.isnan(means_w[2]), "there is no reading"


def test_trace_has_one_line_of_means_in_front_of_the_readings() -> None:
    chart = build_chart("measured")
    paths = list(Xml.fromstring(to_svg(chart)).iter("path"))
    areas = [n for n, path in enumerate(paths) if path.get("stroke-width") == "0.6"]
    lines = [n for n, path in enumerate(paths) if path.get("stroke-width") == "1.2"]
    assert len(areas) == len(lines) == 1 and areas < lines
    assert paths[lines[0]].get("d", "").count("M") == 1
    assert paths[areas[0]].get("fill") == find_look({"model": "H200"}).colour
    assert len(to_svg(chart)) <= 15_000


def test_simulated_trace_does_not_look_measured() -> None:
    texts = [
        {text.text for text in Xml.fromstring(to_svg(build_chart(provenance))).iter("text")}
        for provenance in ("measured", "simulated")
    ]
    assert ["simulated" in words for words in texts] == [False, True]
