"""Charts of servers: throughput and energy against what one user gets, over the requests in
flight."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.labels.caps import draw_labels
from reporting.charts.labels.layout import Plot, PlotPoint, place_labels
from reporting.charts.style import (
    HEIGHT,
    ZERO_AXIS_SHARE,
    Data,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_points,
    find_log_domain,
    is_wide,
    make_log_axis,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, Value

_USER = "user_tokens_per_s"
_LOAD = "concurrency"
_POINT_PX = 4.7
_WIDE_PX = 420
"""Width from which a plot has the labels of a wide one."""
_WIDE = Plot(least_width_px=_WIDE_PX, greatest_width_px=900, height_px=HEIGHT, font_px=11)
_NARROW = Plot(least_width_px=220, greatest_width_px=_WIDE_PX, height_px=HEIGHT, font_px=11)


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
    data = [row for row in table.data if row.get(_USER) and row.get(key)]
    # Repeats of one load at one cap differ by nothing that the chart shows.
    if len({(row["line"], row["cap_w"], row[_LOAD]) for row in data}) < 2:
        return None
    styles = assign_styles(data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum.{_USER} && datum['{key}']")
        .encode(
            x=_make_axis(alt.X, table, _USER, data),
            y=_make_axis(alt.Y, table, key, table.widen(data)),
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
        .mark_line(strokeWidth=1.4, opacity=1)
        .encode(
            order=alt.Order(f"{_LOAD}:Q"),
            detail=alt.Detail("cap_w:N"),
            stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
            strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=styles.legend),
        )
    )
    return Chart(
        f"{table.id}-{name}",
        title,
        "Numbers at the points: requests in flight, and the cap at the highest load of a line. "
        "Lines join the loads of a configuration at one cap. The throughput of a user is 1 / "
        "median time per output token. Hollow points: the result is not compared; the table gives "
        "the reason.",
        f"{table.get_column(key).label} against {table.get_column(_USER).label}, {len(data)} runs. "
        "The table has the same values.",
        table,
        build_spec(
            alt.layer(
                line, draw_points(base, styles), draw_crosses(base), *_label_loads(base, table, key)
            ),
            HEIGHT,
        ),
        better=better,
        source=name_sources(data),
    )


def _make_axis(channel: Any, table: ReportTable, key: str, data: Data) -> Any:
    """A logarithmic axis where values differ by factors. Else an axis from zero: the repeats of one
    load are close, and would fill another axis."""
    values, title = select_numbers(data, key), table.get_column(key).label
    if is_wide(values):
        return make_log_axis(channel, key, title, _add_margin(key, values))
    return make_zero_axis(channel, key, title, max(values))


def _add_margin(key: str, values: Sequence[float]) -> list[float]:
    """The values, and one that makes room for the labels with caps, left of the lines."""
    return [*values, min(values) / 2] if key == _USER else list(values)


def _find_share(row: Mapping[str, Value], key: str, data: Data) -> float:
    """Where a value is on the axis of `_make_axis`, from 0 to 1."""
    values, value = select_numbers(data, key), float(row[key] or 0)
    if is_wide(values):
        low, high = find_log_domain(_add_margin(key, values))
        return math.log(value / low) / math.log(high / low)
    return value / (max(values) * ZERO_AXIS_SHARE)


def _label_loads(base: Any, table: ReportTable, key: str) -> list[Any]:
    """Write the requests in flight beside the points. Repeats of a load share a label."""
    drawn_rows = {n: row for n, row in enumerate(table.data) if row.get(_USER) and row.get(key)}
    data = list(drawn_rows.values())
    points = {
        number: PlotPoint(
            row=number,
            x_share=_find_share(row, _USER, data),
            y_px=((1 - _find_share(row, key, table.widen(data))) * HEIGHT,),
            radius_px=_POINT_PX,
        )
        for number, row in drawn_rows.items()
    }
    lines: dict[tuple[Value, Value], dict[float, int]] = {}
    for number, row in drawn_rows.items():
        loads = lines.setdefault((row["line"], row["cap_w"]), {})
        loads.setdefault(float(row[_LOAD] or 0), number)
    ordered = [[loads[load] for load in sorted(loads)] for loads in lines.values()]
    texts = {number: f"{table.data[number][_LOAD]}" for line in ordered for number in line}
    for (_, cap_w), line in zip(lines, ordered, strict=True):
        texts[line[-1]] += "" if cap_w is None else f" \u00b7 {cap_w:g} W"
    # The last point of a line has the cap, so it gets the best place.
    order = sorted(points, key=lambda number: -len(texts.get(number, "")))
    labelled = [replace(points[number], label=texts.get(number, "")) for number in order]
    curves = [[points[number] for number in line] for line in ordered]
    return [
        layer
        for plot, condition in ((_WIDE, f"width >= {_WIDE_PX}"), (_NARROW, f"width < {_WIDE_PX}"))
        for layer in draw_labels(
            base, place_labels(labelled, curves, plot), plot.font_px, condition
        )
    ]
