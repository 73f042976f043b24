"""Power over time: the envelope of the readings, their mean over 1 s, and the look of the chart."""

from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from support.report.chart_tables import make_bundle

from reporting.charts import build_charts
from reporting.charts.chart import Chart
from reporting.charts.encoding import find_look
from reporting.charts.render import to_svg
from reporting.traces import build_trace_table, summarize_power
from rules.metrics.power.profile import average_around, envelope


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


def test_trace_keeps_only_readings_and_the_extremes() -> None:
    bundle = make_bundle()
    trace = build_trace_table(bundle, "x-trace-1", 60)
    uuid = next(iter(bundle.accelerator_ranks))
    power_w = bundle.samples_of[uuid].floats("power_mw") / 1e3
    power_w = power_w[np.isfinite(power_w)]
    lows, highs = [row["low_w"] for row in trace.rows], [row["high_w"] for row in trace.rows]
    assert set(lows) | set(highs) <= set(power_w), "the extremes are readings"
    assert all(row["low_w"] <= row["mean_w"] + 0.1 for row in trace.rows if row["n"] > 9)
    assert (min(lows), max(highs)) == (power_w.min(), power_w.max())
    assert len(trace.rows) <= 60 and sum(row["n"] for row in trace.rows) == len(power_w)
    assert {row["epoch"] for row in trace.rows if row["scored"]} == set(range(1, 11))
    assert any(row["scored"] is False and row["epoch"] == 0 for row in trace.rows)
    assert {(row["cap_w"], row["rated_w"]) for row in trace.rows} == {(700, 700)}


def test_envelope_leaves_gaps_where_nothing_was_read() -> None:
    bins = list(envelope(np.array([0.0, 1.0, 9.0, 10.0]), np.array([5.0, 7.0, 6.0, 8.0]), 5))
    assert [(b.from_s, b.low_w, b.high_w, b.n) for b in bins] == [
        (0.0, 5.0, 7.0, 2),
        (8.0, 6.0, 8.0, 2),
    ]


def test_spread_is_of_the_scored_readings() -> None:
    bundle = make_bundle()
    power_w = bundle.scored_samples.floats("power_mw") / 1e3
    summary = summarize_power(bundle)
    assert summary is not None
    assert (summary.min_w, summary.median_w, summary.max_w) == (
        power_w.min(),
        np.median(power_w),
        power_w.max(),
    )
    assert summary.p95_w == pytest.approx(np.percentile(power_w, 95))
