"""Charts of servers: throughput and energy against what one user gets, over the requests in
flight."""

from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.style import (
    HEIGHT,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_points,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_USER = "user_tokens_per_s"
_LOAD = "concurrency"


def build_serving_charts(table: ReportTable) -> list[Chart]:
    """Throughput of an accelerator and energy per token, both against the throughput of a user.
    Lines join the runs of a configuration at one cap by their requests in flight."""
    charts = [
        _build_chart(
            table,
            "items_per_s_per_accelerator",
            "throughput",
            "Throughput of an accelerator against that of a user",
            "higher",
        ),
        _build_chart(
            table,
            "joules_per_item",
            "energy",
            "Energy per output token against the throughput of a user",
            "lower",
        ),
    ]
    return [chart for chart in charts if chart]


def _build_chart(table: ReportTable, key: str, name: str, title: str, better: Any) -> Chart | None:
    data = [row for row in table.data if row.get(_USER) is not None and row.get(key) is not None]
    if not data:
        return None
    styles = assign_styles(data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum.{_USER} != null && datum['{key}'] != null")
        .encode(
            # From zero: the repeats of one load are close, and would fill other axes.
            x=make_zero_axis(
                alt.X, _USER, table.get_column(_USER).label, max(select_numbers(data, _USER))
            ),
            y=make_zero_axis(
                alt.Y, key, table.get_column(key).label, max(select_numbers(data, key))
            ),
        )
    )
    line = (
        base.transform_filter("!datum.doubt")
        .transform_aggregate(
            [
                alt.AggregatedFieldDef(op="mean", field=field, **{"as": field})
                for field in (_USER, key)
            ],
            groupby=["line", "cap_w", _LOAD],
        )
        # Repeats at one load give several points. The line goes through their mean.
        .mark_line(strokeWidth=1.4, opacity=0.8)
        .encode(
            order=f"{_LOAD}:Q",
            detail="cap_w:N",
            stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
            strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=styles.legend),
        )
    )
    return Chart(
        f"{table.id}-{name}",
        title,
        "Lines join the loads of a configuration at one cap. The throughput of a user is 1 / "
        "median time per output token. Hollow points: the result is not compared; the table gives "
        "the reason.",
        f"{table.get_column(key).label} against {table.get_column(_USER).label}, {len(data)} runs. "
        "The table has the same values.",
        table,
        build_spec(alt.layer(line, draw_points(base, styles), draw_crosses(base)), HEIGHT),
        better=better,
        source=name_sources(data),
    )
