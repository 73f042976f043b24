"""Charts of servers over requests in flight and caps."""

from xml.etree import ElementTree as Xml

from support.report.row_chart_tables import make_serving_table

from reporting.charts import build_charts
from reporting.charts.render import to_svg
from reporting.report_table import ReportTable


def read_labels(table: ReportTable) -> list[set[str]]:
    return [
        {text.text or "" for text in Xml.fromstring(to_svg(chart)).iter("text")}
        for chart in build_charts(table)
    ]


def count_lines(table: ReportTable) -> list[int]:
    """The number of lines of each chart. Lines of one style share a path."""
    return [
        sum(
            path.get("d", "").count("M")
            for path in Xml.fromstring(to_svg(chart)).iter("path")
            if path.get("stroke-width") == "1.4"
        )
        for chart in build_charts(table)
    ]


def test_each_cap_has_a_line_over_the_loads_with_its_cap_at_the_highest() -> None:
    table = make_serving_table(*((load, cap) for cap in (700, 400) for load in (4, 256, 16)))
    for labels in read_labels(table):
        assert {"256 · 700 W", "256 · 400 W", "16", "4"} <= labels
        assert "256" not in labels
    assert count_lines(table) == [2, 2]


def test_repeats_of_one_load_have_no_chart() -> None:
    assert build_charts(make_serving_table((512, 700), (512, 700))) == []


def test_loads_that_differ_little_are_on_axes_from_zero() -> None:
    table = make_serving_table((256, 700), (512, 700))
    charts = build_charts(table)
    for chart, labels in zip(charts, read_labels(table), strict=True):
        assert "512 · 700 W" in labels
        assert "0" in labels
        assert chart.source == "1 bundle"
    assert [chart.better for chart in charts] == ["higher", "lower"]


def test_throughput_of_a_user_is_the_inverse_of_the_time_per_token() -> None:
    table = make_serving_table((2, 700))
    assert table.rows[0]["user_tokens_per_s"] == 100
    assert table.rows[0]["tpot_s_p50"] == 0.01


def test_answers_of_one_token_have_no_throughput_of_a_user() -> None:
    table = make_serving_table((2, 700))
    rows = [{**row, "user_tokens_per_s": None} for row in table.rows]
    assert build_charts(ReportTable(table.id, table.title, table.columns, tuple(rows))) == []
