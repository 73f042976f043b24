"""The chart of Pareto fronts: accuracy against energy, one line for each setup."""

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    LineStyles,
    assign_styles,
    build_spec,
    draw_points,
    make_linear_axis,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_ENERGY, _ACCURACY = "energy_mj", "accuracy_percent"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def build_front_chart(table: ReportTable) -> list[Chart]:
    """The fronts as steps: a front reaches an accuracy from the energy of its model on."""
    data = table.data
    styles = _colour_by_line(assign_styles(data), list(dict.fromkeys(str(r["line"]) for r in data)))
    energy = table.get_column(_ENERGY).label
    base = alt.Chart(alt.NamedData(table.id)).encode(
        x=make_log_axis(alt.X, _ENERGY, energy, select_numbers(data, _ENERGY)),
        y=make_linear_axis(alt.Y, table, _ACCURACY, data),
    )
    lines = base.mark_line(interpolate="step-after").encode(
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
        strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=None),
    )
    title = "Pareto fronts: published accuracy against energy per image"
    return [
        Chart(
            id=table.id,
            title=title,
            alt=f"{title}, {len(data)} models on {len(styles.colour.domain)} setups",
            about="Triangles on dashed lines: published figures.",
            table=table,
            spec=build_spec(alt.layer(lines, draw_points(base, styles)), EFFICIENCY_HEIGHT),
        )
    ]


def _colour_by_line(styles: LineStyles, lines: list[str]) -> LineStyles:
    """The styles with a colour for each line: one board has several setups."""
    colours = [_COLOURS[n % len(_COLOURS)] for n in range(len(lines))]
    return LineStyles(
        colour=alt.Scale(domain=lines, range=colours),
        shape=styles.shape,
        dash=styles.dash,
        legend=styles.legend,
    )
