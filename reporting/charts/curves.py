"""Charts of lines: clocks against the cap, and figures against another setting.

Only measured or published points are drawn, joined by straight lines; nothing is fitted or
smoothed.
"""

from typing import Any

import altair as alt

from reporting.charts.chart import Chart, count_points, explain_marks
from reporting.charts.style import (
    HEIGHT,
    INK,
    Data,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_points,
    make_linear_axis,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_CAP = "cap_w"
_VALUE = "value"
_MAX_LINEAR_RATIO = 4
"""Up to this ratio of the highest to the lowest value, an axis is linear."""
_EFFICIENCY = "items_per_joule"
_SMALL_HEIGHT = 150


def build_clock_charts(table: ReportTable) -> list[Chart]:
    """SM clock and memory clock against cap."""
    about = "Mean over the scored epochs. "
    candidates = [
        _build_cap_chart(table, "sm_mhz", "sm", "SM clock against cap", about, _SMALL_HEIGHT),
        _build_cap_chart(table, "mem_mhz", "mem", "Memory clock against cap", about, _SMALL_HEIGHT),
    ]
    return [chart for chart in candidates if chart]


def build_axis_charts(table: ReportTable) -> list[Chart]:
    """Efficiency, throughput, energy gain and extra time against the value of another axis than the
    cap."""
    best = "Larger points: least energy of each sweep. "
    against = table.get_column(_VALUE).title
    candidates = [
        _build_cap_chart(
            table, key, name, f"{title} against {against}", about, height, large_if, x_key=_VALUE
        )
        for key, name, title, about, height, large_if in (
            (_EFFICIENCY, "efficiency", "Efficiency", best, HEIGHT, "datum.best"),
            ("items_per_s", "throughput", "Throughput", "", HEIGHT, "false"),
            ("energy_gain_percent", "energy", "Energy gain", "", _SMALL_HEIGHT, "false"),
            ("extra_time_percent", "time", "Extra time", "", _SMALL_HEIGHT, "false"),
        )
    ]
    return [chart for chart in candidates if chart]


def _make_x_axis(table: ReportTable, key: str, data: Data) -> Any:
    """Caps and clocks differ by parts, batch sizes by factors; names have no distance."""
    if any(isinstance(row[key], str) for row in data):
        return alt.X(f"{key}:N", title=table.get_column(key).label)
    values = select_numbers(data, key)
    if key == _VALUE and max(values) / min(values) > _MAX_LINEAR_RATIO:
        return make_log_axis(alt.X, key, table.get_column(key).label, values)
    return make_linear_axis(alt.X, table, key, data)


def _build_cap_chart(
    table: ReportTable,
    key: str,
    name: str,
    title: str,
    about: str,
    height: int = HEIGHT,
    large_if: str = "false",
    x_key: str = _CAP,
) -> Chart | None:
    """A chart of `key` against the cap, or the column `x_key`, with one line per configuration.
    Lines join the means of repeated runs at numbers. None unless there are two values."""
    data = [row for row in table.data if row[x_key] is not None and row.get(key) is not None]
    # A single cap makes no line.
    if len({row[x_key] for row in data}) < 2:
        return None
    styles = assign_styles(data)
    x, y = _make_x_axis(table, x_key, data), make_linear_axis(alt.Y, table, key, data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum.{x_key} != null && datum['{key}'] != null")
        .encode(x=x, y=y)
    )
    line = (
        base.transform_filter("!datum.doubt")
        .transform_aggregate(
            [alt.AggregatedFieldDef(op="mean", field=key, **{"as": key})], groupby=["line", x_key]
        )
        # Repeated runs at a cap give several points. The line goes through their mean.
        .mark_line(strokeWidth=1.4, opacity=1)
        .encode(
            order=alt.Order(f"{x_key}:Q"),
            stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
            strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=styles.legend),
        )
    )
    layers = [draw_points(base, styles, large_if), draw_crosses(base)]
    # There is nothing between two names that a line could show.
    if x.shorthand.endswith(":Q"):
        layers.insert(0, line)
    # A line at zero separates gain from loss.
    if min(select_numbers(data, key)) < 0 < max(select_numbers(data, key)):
        zero = (
            alt.Chart(alt.InlineData(values=[{}]))
            .mark_rule(stroke=INK, opacity=0.5)
            .encode(y=alt.YDatum(0))
        )
        layers.insert(0, zero)
    chart_spec = build_spec(alt.layer(*layers), height)
    labels = f"{table.get_column(key).label} against {table.get_column(x_key).label}"
    alt_text = f"{labels}, {count_points(data)}"
    return Chart(
        f"{table.id}-{name}", title, f"{about}{explain_marks(data)}", alt_text, table, chart_spec
    )
