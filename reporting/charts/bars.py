"""Bar and dot charts: energy with intervals, scaling, tuned and baseline."""

from typing import Any

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import BLUE, RED
from reporting.charts.style import (
    INK,
    assign_styles,
    build_spec,
    draw_points,
    make_linear_axis,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_MAX_ROWS = 24
"""Maximum number of rows in a chart. The caption says if there are more."""
_ROW_PX = 32
_NAME = "datum.line + (datum.cap_w == null ? '' : ' · ' + datum.cap_w + ' W')"


def build_energy_chart(table: ReportTable) -> list[Chart]:
    """Energy per item of each run with its 95 % interval, lowest first."""
    key = "joules_per_item"
    data = [row for row in table.data if row.get(f"{key}_low") is not None]
    # A single run has nothing to be compared with.
    if len(data) < 2:
        return []
    # The spec sorts and cuts the rows itself. This copy gives styles, axis and height, so both must
    # select the same rows.
    drawn_rows = sorted(data, key=lambda row: float(row[key] or 0))[:_MAX_ROWS]
    styles = assign_styles(drawn_rows)
    base = _list_rows(
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{key}_low'] != null")
        # The chart numbers its rows, because the table has another order.
        .transform_window(place="row_number()", sort=[alt.SortField(key)])
    )
    # Without its interval, a small difference of two points would look like a result.
    interval = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        x=make_linear_axis(alt.X, table, key, drawn_rows, f"{key}_low"),
        x2=f"{key}_high:Q",
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=None),
    )
    # No legend: the name of each run is written above its mark.
    marks = draw_points(
        base.encode(x=make_linear_axis(alt.X, table, key, drawn_rows)), styles, legend=False
    )
    limit_note = f"The {_MAX_ROWS} lowest of {len(data)} runs. " if len(data) > _MAX_ROWS else ""
    hollow_note = (
        " Hollow points: the cap is not known to have held."
        if any(row["doubt"] for row in drawn_rows)
        else ""
    )
    about = (
        f"{limit_note}Lower is better. Bars are 95 % intervals within one run. "
        f"They do not include the spread between boards of one model, about 4 %.{hollow_note}"
    )
    alt_text = (
        f"{table.get_column(key).label} of {len(drawn_rows)} runs with 95 % intervals. The table "
        "has the same values."
    )
    chart_spec = build_spec(
        alt.layer(interval, marks, _write_names(base)), 8 + _ROW_PX * len(drawn_rows)
    )
    return [
        Chart(
            f"{table.id}-energy",
            "Energy per item with 95 % intervals",
            about,
            alt_text,
            table,
            chart_spec,
        )
    ]


def build_scaling_chart(table: ReportTable) -> list[Chart]:
    """Speed-up against the number of accelerators, with perfect scaling for comparison."""
    data = [row for row in table.data if row.get("speed_up") is not None]
    if not data:
        return []
    styles = assign_styles(data)
    base = alt.Chart(alt.NamedData(table.id)).transform_filter("datum.speed_up != null")
    # The axis must also hold the mark of perfect scaling, which is at the number of accelerators.
    highest = max(max(float(row["speed_up"] or 0), float(row["count"] or 0)) for row in data)
    x = alt.X(
        "count:O",
        title=table.get_column("count").label,
        axis=alt.Axis(labelAngle=0),
        sort="ascending",
    )
    y = make_zero_axis(alt.Y, "speed_up", table.get_column("speed_up").label, highest)
    # Bars of many runs must not overlap in the width of a static picture.
    width_px = min(48, 480 // len(data))
    bar = base.mark_bar(size=width_px, strokeWidth=1.5, tooltip={"content": "data"}).encode(
        x=x,
        xOffset=alt.XOffset("bar:N", sort="ascending"),
        y=y,
        fill=alt.Fill("line:N", scale=styles.colour, legend=styles.legend),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
        # A filled bar in doubt would look like a measured speed-up.
        fillOpacity=alt.condition(
            "datum.doubt || datum.implausible", alt.value(0), alt.value(0.85)
        ),
    )
    perfect_scaling = base.mark_tick(thickness=1.5, color=INK, size=width_px + 8).encode(
        x=x, xOffset=alt.XOffset("bar:N", sort="ascending"), y="count:Q"
    )
    # Line and cap name a bar. Bars of one line at several caps would otherwise overlap.
    bar_name = "datum.line + ' · ' + datum.cap_w + ' W'"
    chart_spec = build_spec(alt.layer(bar, perfect_scaling).transform_calculate(bar=bar_name), 180)
    about = (
        "Compared with runs on one accelerator of the same model at the same cap. The line "
        "across a bar is perfect scaling. Hollow bars: the cap is not known to have held, or the "
        "figure is above the peak of the board."
    )
    alt_text = (
        f"Speed-up against the number of accelerators, {len(data)} runs. The table has the same "
        "values."
    )
    return [
        Chart(
            f"{table.id}-bars", "Speed-up over one accelerator", about, alt_text, table, chart_spec
        )
    ]


def build_naive_chart(table: ReportTable) -> list[Chart]:
    """The energy of each run over its naive estimate, in the order of the table."""
    key = "over_naive"
    data = table.data[:_MAX_ROWS]
    # No line for each run: the name above a mark says which it is.
    base = _list_rows(alt.Chart(alt.NamedData(table.id)).transform_window(place="row_number()"))
    highest = max(select_numbers(data, key, f"{key}_high"))
    title = table.get_column(key).label

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, title, highest)

    bar = base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=make_axis("zero"), x2=f"{key}:Q")
    marks = base.mark_point(
        shape="circle", size=90, filled=True, fill=BLUE, opacity=1, tooltip={"content": "data"}
    ).encode(
        x=make_axis(key),
        # A hollow mark is a result that wins nothing.
        fillOpacity=alt.condition("datum.doubt || datum.withheld", alt.value(0), alt.value(1)),
        stroke=alt.value(BLUE),
    )
    naive = base.mark_tick(thickness=2, size=8, color=INK, orient="vertical").encode(
        x=make_axis("one")
    )
    limit_note = f"First {_MAX_ROWS} rows of the table. " if len(table.rows) > _MAX_ROWS else ""
    about = f"{limit_note}Upright lines: the naive estimate. {table.about}"
    alt_text = f"{title} of {len(data)} runs. The table has the same values."
    layers = alt.layer(bar, naive, marks, _write_names(base)).transform_calculate(zero="0", one="1")
    chart_spec = build_spec(layers, 8 + _ROW_PX * len(data))
    return [Chart(f"{table.id}-marks", table.title, about, alt_text, table, chart_spec)]


def build_tuned_chart(table: ReportTable) -> list[Chart]:
    """Throughput of tuned and baseline variants on the same boards at the same cap."""
    key, baseline_key = "items_per_s_per_accelerator", "baseline_rate"
    data = [row for row in table.data if row[key] is not None and row[baseline_key] is not None][
        :_MAX_ROWS
    ]
    if not data:
        return []
    base = _list_rows(
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{key}'] != null && datum['{baseline_key}'] != null")
        .transform_window(place="row_number()")
    )
    highest = max(select_numbers(data, key, baseline_key))
    column = table.get_column(key)

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, column.label, highest)

    # A line between two marks shows which of them belong together.
    connector = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=make_axis(baseline_key), x2=f"{key}:Q"
    )
    layers = [connector]
    # The shapes differ too, for readers who cannot tell the colours apart.
    for field, shape, colour in ((baseline_key, "square", BLUE), (key, "circle", RED)):
        marks = base.mark_point(
            shape=shape, size=90, filled=True, fill=colour, opacity=1, tooltip={"content": "data"}
        )
        layers.append(marks.encode(x=make_axis(field)))
    limit_note = f"First {_MAX_ROWS} rows of the table. " if len(table.rows) > _MAX_ROWS else ""
    about = (
        f"{limit_note}Square: baseline variant. Circle: tuned variant, named above. {table.about}"
    )
    alt_text = f"Tuned and baseline throughput, {len(data)} pairs. The table has the same values."
    chart_spec = build_spec(alt.layer(*layers, _write_names(base)), 8 + _ROW_PX * len(data))
    return [
        Chart(
            f"{table.id}-pairs", "Tuned and baseline throughput", about, alt_text, table, chart_spec
        )
    ]


def _list_rows(base: Any) -> Any:
    """Place the first rows one below the other, by `place`."""
    first_rows = base.transform_filter(f"datum.place <= {_MAX_ROWS}").transform_calculate(
        name=_NAME
    )
    return first_rows.encode(y=alt.Y("place:O", title=None, axis=None, sort="ascending"))


def _write_names(base: Any) -> Any:
    """Write the name of each row above its marks, so that there is room for it on a phone too."""
    return base.mark_text(align="left", baseline="bottom", x=2, dy=-6, fontSize=11).encode(
        text="name:N"
    )
