"""The chart of Pareto fronts: accuracy against energy, one line for each setup."""

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    assign_styles,
    build_spec,
    draw_points,
    make_linear_axis,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_ENERGY, _ACCURACY = "energy_mj", "accuracy_percent"


def build_front_chart(table: ReportTable) -> list[Chart]:
    """The fronts as steps: a front reaches an accuracy from the energy of its model on."""
    data = table.data
    styles = assign_styles(data)
    energy = table.get_column(_ENERGY).label
    base = alt.Chart(alt.NamedData(table.id)).encode(
        x=make_log_axis(alt.X, _ENERGY, energy, select_numbers(data, _ENERGY)),
        y=make_linear_axis(alt.Y, table, _ACCURACY, data),
    )
    lines = base.mark_line(interpolate="step-after").encode(
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
        strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=None),
    )
    points = draw_points(base, styles)
    title = "Pareto fronts: published accuracy against energy per image"
    return [
        Chart(
            id=table.id,
            title=title,
            alt=f"{title}, {len(data)} models",
            about="Faint points on dashed lines: published figures. Hollow points: demo.",
            table=table,
            spec=build_spec(alt.layer(lines, points), EFFICIENCY_HEIGHT),
        )
    ]
