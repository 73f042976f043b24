"""Charts of power readings: over the time of a run, and their distribution."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.encoding import FAINT, RED, TEAL, find_look
from reporting.charts.rows.layout import (
    MAX_ROWS,
    build_row_spec,
    note_equal_names,
    note_limit,
    place_rows,
    place_runs,
    write_names,
)
from reporting.charts.style import (
    GROUPED_DIGITS,
    HOVER_LAYER,
    INK,
    LineStyles,
    assign_styles,
    build_spec,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, Value

_CAP, _CONTROL = RED, TEAL
_BOX = (
    "Dark box: 25th to 75th percentile with the median; light box: 5th to 95th percentile; line: "
    "minimum to maximum."
)
_BAR = "M0,-0.8L0,0.8"
"""A short upright line, as the shape of a point."""
_EPOCHS = {"discarded": RED, "even": "#888888", "odd": "#444444"}
_LIMITS = (
    ("rated_w", "rated", INK, [1, 0]),
    ("cap_w", "cap", _CAP, [6, 3]),
    ("control_w", "control", _CONTROL, [8, 2, 2, 2]),
    ("idle_w", "idle", INK, [2, 2]),
)


_TRACE_NOTE = (
    " Line: mean over 1 s. Shaded areas are epochs, to the nearest bin; the discarded first epoch "
    "is red. Rated: highest power limit that the manufacturer allows. Idle: idle power of the "
    "board model."
)
_CONTROL_NOTE = " Control: median power of a control run at the same cap."


def build_trace_chart(table: ReportTable) -> list[Chart]:
    """Power over time with cap, rated power, idle power and the epochs."""
    data = table.data
    if not data:
        return []
    highest = max(select_numbers(data, "high_w", "cap_w", "rated_w", "control_w"))
    base = alt.Chart(alt.NamedData(table.id))
    hue = find_look(data[0]).colour
    # Power starts at zero, so that the share of the cap in use can be seen. All layers share this
    # scale.
    scale = alt.Scale(domain=[0, highest * 1.08], nice=False)
    x = alt.X(
        "t_s:Q",
        title="time, s",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickCount=8, labelExpr=GROUPED_DIGITS),
    )
    y = alt.Y(
        "low_w:Q",
        title="power, W",
        scale=scale,
        axis=alt.Axis(tickCount=6, labelExpr=GROUPED_DIGITS),
    )
    power = base.mark_area(
        # Nothing is interpolated: each bin has the width of its time.
        interpolate="step-after",
        # The outline has the contrast. The line of means must be seen on the area.
        opacity=1,
        fill=hue,
        fillOpacity=0.3,
        stroke=hue,
        strokeWidth=0.6,
    ).encode(x=x, y=y, y2=alt.Y2("high_w:Q"))
    mean = (
        base.transform_calculate(middle_s="(datum.t_s + datum.to_s) / 2")
        .mark_line(stroke=INK, strokeWidth=1.2)
        .encode(x=alt.X("middle_s:Q", title="time, s"), y=alt.Y("mean_w:Q", scale=scale))
    )
    # Epochs are behind the power, limits in front of it.
    layers = [shade_epochs(base), power, mean, *_draw_limits(base, scale, data[0])]
    # The title of the table ends with the id of the run.
    run = table.title.partition(", ")[2]
    control_note = "" if data[0]["control_w"] is None else _CONTROL_NOTE
    end_s = float(data[-1]["to_s"] or 0)
    return [
        Chart(
            f"{table.id}-power",
            "Power over time",
            f"{run}: {table.about}{_TRACE_NOTE}{control_note}",
            f"Power over {end_s:.0f} s in {len(data)} bins. The table has the same values.",
            table,
            build_spec(alt.layer(*layers, _make_hover_layer(base, x)), 170),
            # The trace of a run has no bundle in its rows.
            source=f"run {run}",
        )
    ]


def _make_hover_layer(base: Any, x: Any) -> Any:
    """A transparent rectangle over the full height of each bin, which shows the tooltip. A bin is
    often narrower than the pointer and its area low."""
    return (
        base.mark_rect(opacity=0, fill=INK, tooltip={"content": "data"})
        .encode(x=x, x2=alt.X2("to_s:Q"))
        .properties(name=HOVER_LAYER)
    )


def shade_epochs(base: Any) -> Any:
    """A rectangle for each epoch, from its first to its last bin, or step."""
    return (
        base.transform_filter("datum.epoch != null")
        .transform_aggregate(
            begin="min(t_s)", end="max(to_s)", scored="max(scored)", groupby=["epoch"]
        )
        .transform_calculate(look="!datum.scored ? 'discarded' : datum.epoch % 2 ? 'odd' : 'even'")
        .mark_rect(opacity=0.18)
        .encode(
            x=alt.X("begin:Q", title="time, s"),
            x2=alt.X2("end:Q"),
            fill=alt.Fill(
                "look:N",
                scale=alt.Scale(domain=list(_EPOCHS), range=list(_EPOCHS.values())),
                legend=None,
            ),
        )
    )


def _draw_limits(base: Any, scale: alt.Scale, row: Mapping[str, Value]) -> list[Any]:
    """A line and a word for each of cap, rated power, control and idle power that is known."""
    layers = []
    for key, name, colour, dash in _LIMITS:
        if row[key] is None:
            continue
        # Every row holds the limits. One row is enough for one line.
        first_bin = base.transform_filter("datum.t_s == 0")
        line = first_bin.mark_rule(stroke=colour, strokeWidth=1.4, strokeDash=dash).encode(
            y=alt.Y(f"{key}:Q", scale=scale)
        )
        # Cap, rated power and control are often close, so their labels are placed side by side.
        left = {"cap_w": 6, "rated_w": 60, "control_w": 120, "idle_w": 6}[key]
        text = first_bin.mark_text(
            align="left", baseline="bottom", dy=-2, x=left, fontSize=11, text=name
        ).encode(y=alt.Y(f"{key}:Q"))
        layers += [line, text]
    return layers


def build_distribution_chart(table: ReportTable) -> list[Chart]:
    """Distribution of the power readings of each run in its scored epochs."""
    data = table.data[:MAX_ROWS]
    if not data:
        return []
    base = place_runs(alt.Chart(alt.NamedData(table.id)))
    highest = max(select_numbers(data, "max_w", "cap_w", "rated_w"))
    make_axis = _make_power_axis(highest)
    cap = base.mark_tick(thickness=2, size=18, opacity=1, color=_CAP).encode(x=make_axis("cap_w"))
    return [
        Chart(
            f"{table.id}-spread",
            "Distribution of power readings",
            f"{note_limit(len(table.rows))}Power readings of all accelerators in the scored "
            f"epochs. {note_equal_names(data)}{_BOX} Red: cap.",
            f"Distribution of power of {len(data)} runs. The table has the same values.",
            table,
            build_row_spec(
                [*_draw_boxes(base, make_axis, assign_styles(data)), cap, write_names(base)],
                len(table.rows),
            ),
            source=name_sources(data),
        )
    ]


def build_node_charts(table: ReportTable) -> list[Chart]:
    """Power of whole nodes of one size in each chart, on one scale: boxes of measured nodes beside
    the median and the maximum of published ones. A size has a chart if there are two nodes."""
    if table.id != "whole-nodes":
        return []
    counts = Counter(int(row["accelerators"]) for row in table.data if row["accelerators"])
    return [_build_node_chart(table, count) for count, nodes in sorted(counts.items()) if nodes > 1]


def _build_node_chart(table: ReportTable, count: int) -> Chart:
    data = [row for row in table.data if row["accelerators"] == count]
    nodes = alt.Chart(alt.NamedData(table.id)).transform_filter(f"datum.accelerators == {count}")
    base = place_rows(nodes, name="datum.line + ' \u00b7 ' + datum.work")
    make_axis = _make_power_axis(max(select_numbers(data, "max_w", "rated_w", "mean_w")))
    styles = assign_styles(data)
    published = base.transform_filter("datum.p25_w == null")
    reach = published.mark_rule(strokeWidth=1.5, strokeDash=[5, 3]).encode(
        x=make_axis("median_w"),
        x2=alt.X2("max_w:Q"),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=None),
    )
    # Published figures are faint. A median is a triangle, a maximum a bar, a mean a diamond.
    points = [
        published.mark_point(
            shape=shape,
            size=60,
            strokeWidth=1.5,
            opacity=1,
            fillOpacity=FAINT,
            tooltip={"content": "data"},
        ).encode(
            x=make_axis(key),
            stroke=alt.Stroke("line:N", scale=styles.colour, legend=None),
            fill=alt.Fill("line:N", scale=styles.colour, legend=None),
        )
        for key, shape in (("median_w", "triangle-up"), ("max_w", _BAR), ("mean_w", "diamond"))
    ]
    rated = base.mark_tick(thickness=2, size=18, opacity=1, color=INK).encode(
        x=make_axis("rated_w")
    )
    boxes = _draw_boxes(base.transform_filter("datum.p25_w != null"), make_axis, styles)
    has_measured = any(row["p25_w"] is not None for row in data)
    measured_note = f"Measured nodes, means over 1 s: {_BOX} " if has_measured else ""
    return Chart(
        f"{table.id}-{count}",
        f"Power of nodes with {count} accelerators",
        f"{note_limit(len(data))}{measured_note}Published nodes: triangle, median; end of "
        "the dashed line, maximum; diamond, mean. Upright lines: rated power.",
        f"Power of {len(data)} nodes with {count} accelerators each. The table has the same "
        "values.",
        table,
        build_row_spec([*boxes, reach, *points, rated, write_names(base)], len(data)),
        source=name_sources(data),
    )


def _make_power_axis(highest_w: float) -> Callable[[str], Any]:
    """The axis of power from 0 W of all layers."""
    return lambda key: make_zero_axis(alt.X, key, "power, W", highest_w)


def _draw_boxes(base: Any, make_axis: Callable[[str], Any], styles: LineStyles) -> list[Any]:
    """The percentiles of each row. A density curve would depend on a bandwidth."""
    hue = alt.Fill("line:N", scale=styles.colour, legend=None)
    outline = alt.Stroke("line:N", scale=styles.colour, legend=None)
    whisker = base.mark_rule(strokeWidth=1).encode(x=make_axis("min_w"), x2=alt.X2("max_w:Q"))
    outer_box = base.mark_bar(height=5, fillOpacity=0.3, strokeWidth=1).encode(
        x=make_axis("p5_w"), x2=alt.X2("p95_w:Q"), fill=hue, stroke=outline
    )
    box = base.mark_bar(height=11, tooltip={"content": "data"}).encode(
        x=make_axis("p25_w"), x2=alt.X2("p75_w:Q"), fill=hue
    )
    median = base.mark_tick(thickness=2, size=15, opacity=1).encode(x=make_axis("median_w"))
    return [whisker, outer_box, box, median]
