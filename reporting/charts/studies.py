"""The charts of studies of image models beside their fronts: models at each batch size, at their
power, by year, and on two setups."""

import json
import math
from collections.abc import Mapping

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import PALETTE, find_look
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    HEIGHT,
    INK,
    assign_styles,
    build_spec,
    draw_points,
    make_linear_axis,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, format_number

NARROW_WIDTH_PX = 400
"""Of pictures that the page shows on phones too, so that their letters stay readable there."""
_BATCH = "batch"
_BINS_PER_DECADE = 20
_YEAR_HUES = (265, 395)
"""From violet to orange, as `colourOfYear` of the page."""


def build_ladder_charts(table: ReportTable) -> list[Chart]:
    """Throughput, power and energy against batch size: medians over the models of each setup, with
    the span of the middle half."""
    if not table.rows:
        return []
    titles = {
        "throughput_percent": "Throughput against batch size, median of all models",
        "power_w": "Power against batch size, median of all models",
        "energy_ratio": "Energy against batch size, median of all models",
    }
    return [_build_ladder_chart(table, key, title) for key, title in titles.items()]


def _build_ladder_chart(table: ReportTable, key: str, title: str) -> Chart:
    data = table.data
    styles = assign_styles(data)
    ends = (key, f"{key}_q1", f"{key}_q3")
    values = select_numbers(data, *ends)
    label = table.get_column(key).label
    batches = sorted(set(select_numbers(data, _BATCH)))
    x = make_log_axis(alt.X, _BATCH, table.get_column(_BATCH).label, batches)
    x["axis"]["values"] = batches[::2]
    base = alt.Chart(alt.NamedData(table.id)).encode(x=x)
    if key == "energy_ratio":
        y = make_log_axis(alt.Y, key, label, values)
    else:
        scale = alt.Scale(domain=[0, max(values) * 1.05], nice=False)
        y = alt.Y(f"{key}:Q", title=label, scale=scale)
    lower = y.copy()
    lower.shorthand = f"{key}_q1:Q"
    # Spans of several setups would cover each other.
    first = str(data[0]["line"])
    band = (
        base.transform_filter(f"datum.line === {json.dumps(first)}")
        .mark_area(opacity=0.15, fill=find_look(data[0]).colour)
        .encode(y=lower, y2=alt.Y2(f"{key}_q3:Q"))
    )
    line = base.mark_line(strokeWidth=1.4).encode(
        y=y,
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
        strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=styles.legend),
    )
    return Chart(
        id=f"{table.id}-{key.partition('_')[0]}",
        title=title,
        about="Line: median over the models that ran at a batch size. Shaded: the middle half of "
        f"them, of {first}.",
        alt=f"{title}, {len(data)} medians. The table has the same values.",
        table=table,
        width_px=NARROW_WIDTH_PX,
        spec=build_spec(alt.layer(band, line, draw_points(base.encode(y=y), styles)), HEIGHT),
    )


def build_power_chart(table: ReportTable) -> list[Chart]:
    """Energy against throughput of all models, with the line of each power cap."""
    data = table.data
    styles = assign_styles(data)
    rates, energies = select_numbers(data, "images_per_s"), select_numbers(data, "energy_mj")
    x = make_log_axis(alt.X, "images_per_s", table.get_column("images_per_s").label, rates)
    y = make_log_axis(alt.Y, "energy_mj", table.get_column("energy_mj").label, energies)
    base = alt.Chart(alt.NamedData(table.id)).encode(x=x, y=y)
    caps_w = sorted({float(row["cap_w"]) for row in data if row["cap_w"]})
    lines = []
    for cap_w in caps_w:
        # The ends of the line, where it leaves the plot.
        first = max(min(rates) / 1.25, cap_w * 1e3 / (max(energies) * 1.25))
        last = min(max(rates) * 1.25, cap_w * 1e3 / (min(energies) / 1.25))
        ends = [{"rate": rate, "mj": cap_w * 1e3 / rate} for rate in (first, last)]
        line_x, line_y = x.copy(), y.copy()
        line_x.shorthand, line_y.shorthand = "rate:Q", "mj:Q"
        lines.append(
            alt.Chart(alt.InlineData(values=ends))
            .mark_line(stroke=INK, strokeDash=[6, 3], strokeWidth=1)
            .encode(x=line_x, y=line_y)
        )
    title = "Energy against throughput of all models"
    caps = ", ".join(f"{cap_w:g} W" for cap_w in caps_w)
    return [
        Chart(
            id="study-power",
            title=title,
            about=f"Dashed lines: the power caps, {caps}. A model on the line draws the power of "
            "the cap."
            if caps
            else "",
            alt=f"{title}, {len(data)} results",
            table=table,
            spec=build_spec(alt.layer(draw_points(base, styles), *lines), EFFICIENCY_HEIGHT),
        )
    ]


def build_year_chart(table: ReportTable) -> list[Chart]:
    """The front of the models published by the end of each year."""
    data = table.data
    years = sorted({str(row["year"]) for row in data})
    first, last = _YEAR_HUES
    step = (last - first) / max(len(years) - 1, 1)
    colours = [f"hsl({(first + step * n) % 360:.0f}, 55%, 52%)" for n in range(len(years))]
    scale = alt.Scale(domain=years, range=colours)
    base = alt.Chart(alt.NamedData(table.id)).encode(
        x=make_log_axis(
            alt.X,
            "energy_mj",
            table.get_column("energy_mj").label,
            select_numbers(data, "energy_mj"),
        ),
        y=make_linear_axis(alt.Y, table, "accuracy_percent", data),
    )
    legend = alt.Legend(columns=6, symbolType="stroke", labelFontSize=12)
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.6).encode(
        stroke=alt.Stroke("year:N", scale=scale, legend=legend),
    )
    points = base.mark_point(size=25, filled=True, opacity=1).encode(
        fill=alt.Fill("year:N", scale=scale, legend=None)
    )
    title = "Fronts of the models published by the end of each year"
    return [
        Chart(
            id="study-years",
            title=title,
            about=f"Setup: {data[0]['setup']}. A later front covers an earlier one.",
            alt=f"{title}, {len(data)} models",
            table=table,
            spec=build_spec(alt.layer(lines, points), EFFICIENCY_HEIGHT),
        )
    ]


def build_ratio_chart(table: ReportTable) -> list[Chart]:
    """How many models have which energy ratio between two setups, with the geometric means."""
    data = table.data
    pairs: dict[str, list[float]] = {}
    for row in data:
        pairs.setdefault(str(row["pair"]), []).append(float(row["energy_ratio"] or 0))
    means = {pair: math.exp(math.fsum(map(math.log, v)) / len(v)) for pair, v in pairs.items()}
    scale = alt.Scale(domain=list(pairs), range=list(PALETTE[: len(pairs)]))
    legend = alt.Legend(
        labelLimit=500,
        labelFontSize=12,
        columns=1,
        labelExpr=f"({json.dumps(_label(means))})[datum.label]",
    )
    # Bins of equal width on the logarithmic axis.
    count = (
        alt.Chart(alt.NamedData(table.id))
        .transform_calculate(
            bin=f"floor(log(datum.energy_ratio) / LN10 * {_BINS_PER_DECADE})",
        )
        .transform_aggregate(models="count()", groupby=["pair", "bin"])
        .transform_calculate(
            low=f"pow(10, datum.bin / {_BINS_PER_DECADE})",
            high=f"pow(10, (datum.bin + 1) / {_BINS_PER_DECADE})",
        )
    )
    values = select_numbers(data, "energy_ratio")
    x = make_log_axis(alt.X, "low", table.get_column("energy_ratio").label, values)
    bars = count.mark_bar(opacity=0.45).encode(
        x=x,
        x2=alt.X2("high:Q"),
        y=alt.Y("models:Q", stack=None, title="models", scale=alt.Scale(zero=True)),
        y2=alt.Y2Datum(0),
        fill=alt.Fill("pair:N", scale=scale, legend=legend),
    )
    mean_x = x.copy()
    mean_x.shorthand = "mean:Q"
    marks = (
        alt.Chart(alt.InlineData(values=[{"pair": p, "mean": m} for p, m in means.items()]))
        .mark_rule(strokeWidth=2)
        .encode(x=mean_x, stroke=alt.Stroke("pair:N", scale=scale, legend=None))
    )
    title = "Energy ratio of each model between two setups"
    return [
        Chart(
            id="study-ratio",
            title=title,
            about="Upright lines: geometric means.",
            alt=f"{title}, {len(data)} models of {len(pairs)} pairs",
            table=table,
            spec=build_spec(alt.layer(bars, marks), HEIGHT),
        )
    ]


def _label(means: Mapping[str, float]) -> dict[str, str]:
    return {
        pair: f"{pair}, geometric mean {format_number(mean, 4)}" for pair, mean in means.items()
    }
