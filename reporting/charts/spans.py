"""Charts of power readings: over the time of a run, and their distribution."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import BLUE, GREEN, PURPLE, RED
from reporting.charts.style import HOVER_LAYER, INK, build_spec, make_zero_axis, select_numbers
from reporting.report_table import ReportTable, Value

_POWER, _CAP, _RATED, _CONTROL = BLUE, RED, PURPLE, GREEN
_MAX_ROWS = 24
_ROW_PX = 34
_EPOCHS = {"discarded": RED, "even": "#888888", "odd": "#444444"}
_LIMITS = (
    ("rated_w", "rated", _RATED, [1, 0]),
    ("cap_w", "cap", _CAP, [6, 3]),
    ("control_w", "control", _CONTROL, [8, 2, 2, 2]),
    ("idle_w", "idle", INK, [2, 2]),
)


def build_trace_chart(table: ReportTable) -> list[Chart]:
    """Power over time with cap, rated power, idle power and the epochs."""
    data = table.data
    if not data:
        return []
    highest = max(select_numbers(data, "high_w", "cap_w", "rated_w", "control_w"))
    base = alt.Chart(alt.NamedData(table.id))
    # Power starts at zero, so that the share of the cap in use can be seen. All layers share this
    # scale.
    scale = alt.Scale(domain=[0, highest * 1.08], nice=False)
    x = alt.X("t_s:Q", title="time, s", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=8))
    y = alt.Y("low_w:Q", title="power, W", scale=scale, axis=alt.Axis(tickCount=6))
    power = base.mark_area(
        # Nothing is interpolated: each bin has the width of its time.
        interpolate="step-after",
        opacity=0.85,
        fill=_POWER,
        stroke=_POWER,
        strokeWidth=0.6,
    ).encode(x=x, y=y, y2="high_w:Q")
    # A bin is often narrower than the pointer and its area low. A transparent rectangle over the
    # full height shows the tooltip anyway.
    hover_layer = (
        base.mark_rect(opacity=0, fill=INK, tooltip={"content": "data"})
        .encode(x=x, x2="to_s:Q")
        .properties(name=HOVER_LAYER)
    )
    # Epochs are behind the power, limits in front of it.
    layers = [_shade_epochs(base), power, *_draw_limits(base, scale, data[0])]
    # The title of the table ends with the id of the run.
    run = table.title.partition(", ")[2]
    about = (
        f"{run}: {table.about} Shaded areas are epochs, to the nearest bin; the discarded first "
        "epoch is orange. Rated: highest power limit that the manufacturer allows. Idle: idle "
        "power of the board model."
    )
    if data[0]["control_w"] is not None:
        about += " Control: median power of a control run at the same cap."
    alt_text = (
        f"Power over {float(data[-1]['to_s'] or 0):.0f} s in {len(data)} bins. The table has the "
        "same values."
    )
    return [
        Chart(
            f"{table.id}-power",
            "Power over time",
            about,
            alt_text,
            table,
            build_spec(alt.layer(*layers, hover_layer), 170),
        )
    ]


def _shade_epochs(base: Any) -> Any:
    """A rectangle for each epoch, from its first to its last bin."""
    return (
        base.transform_filter("datum.epoch != null")
        .transform_aggregate(
            begin="min(t_s)", end="max(to_s)", scored="max(scored)", groupby=["epoch"]
        )
        .transform_calculate(look="!datum.scored ? 'discarded' : datum.epoch % 2 ? 'odd' : 'even'")
        .mark_rect(opacity=0.18)
        .encode(
            x=alt.X("begin:Q", title="time, s"),
            x2="end:Q",
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
        ).encode(y=f"{key}:Q")
        layers += [line, text]
    return layers


def build_distribution_chart(table: ReportTable) -> list[Chart]:
    """Distribution of the power readings of each run in its scored epochs."""
    data = table.data[:_MAX_ROWS]
    if not data:
        return []
    name_expression = "datum.line + (datum.cap_w == null ? '' : ' · ' + datum.cap_w + ' W')"
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_calculate(name=name_expression)
        .transform_window(place="row_number()")
        .transform_filter(f"datum.place <= {_MAX_ROWS}")
        .encode(y=alt.Y("place:O", title=None, axis=None, sort="ascending"))
    )
    highest = max(select_numbers(data, "max_w", "cap_w", "rated_w"))

    def make_axis(key: str) -> Any:
        return make_zero_axis(alt.X, key, "power, W", highest)

    # Percentiles, not a density curve: a curve would depend on a bandwidth.
    whisker = base.mark_rule(strokeWidth=1).encode(x=make_axis("min_w"), x2="max_w:Q")
    outer_box = base.mark_bar(height=5, fill=_POWER, opacity=0.45).encode(
        x=make_axis("p5_w"), x2="p95_w:Q"
    )
    box = base.mark_bar(height=11, fill=_POWER, tooltip={"content": "data"}).encode(
        x=make_axis("p25_w"), x2="p75_w:Q"
    )
    median = base.mark_tick(thickness=2, height=15, color=INK).encode(x=make_axis("median_w"))
    cap = base.mark_tick(thickness=2, height=18, color=_CAP).encode(x=make_axis("cap_w"))
    # Above the marks, because labels beside them leave no room for the chart on a phone.
    name = base.mark_text(align="left", baseline="bottom", x=2, dy=-8, fontSize=11).encode(
        text="name:N"
    )
    about = (
        f"{_note_limit(len(table.data))}Power readings of all accelerators in the scored epochs. "
        "Dark box: 25th to 75th percentile with the median; light box: 5th to 95th percentile; "
        "line: minimum to maximum; orange: cap."
    )
    alt_text = f"Distribution of power of {len(data)} runs. The table has the same values."
    chart_spec = build_spec(
        alt.layer(whisker, outer_box, box, median, cap, name), 8 + _ROW_PX * len(data)
    )
    return [
        Chart(
            f"{table.id}-spread",
            "Distribution of power readings",
            about,
            alt_text,
            table,
            chart_spec,
        )
    ]


def _note_limit(count: int) -> str:
    return f"First {_MAX_ROWS} of {count} runs of the table. " if count > _MAX_ROWS else ""
