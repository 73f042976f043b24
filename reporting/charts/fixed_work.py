"""The chart of fixed work: energy of whole nodes against batch size, one line for each
configuration."""

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.style import (
    HEIGHT,
    assign_styles,
    build_spec,
    draw_points,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable

_BATCH, _ENERGY = "batch", "node_kwh"


def build_fixed_work_chart(table: ReportTable) -> list[Chart]:
    """The configurations that the table has at several batch sizes; none without one."""
    data = [row for row in table.data if row["has_batches"]]
    if not data:
        return []
    styles = assign_styles(data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter("datum.has_batches")
        .encode(
            x=make_log_axis(
                alt.X, _BATCH, table.get_column(_BATCH).label, select_numbers(data, _BATCH)
            ),
            y=make_log_axis(
                alt.Y, _ENERGY, table.get_column(_ENERGY).label, select_numbers(data, _ENERGY)
            ),
        )
    )
    lines = base.mark_line(strokeWidth=1.4, opacity=1).encode(
        order=alt.Order(f"{_BATCH}:Q"),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=styles.legend),
        strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=styles.legend),
    )
    title = "Energy of a fixed amount of work against batch size"
    return [
        Chart(
            id=f"{table.id}-batch",
            title=title,
            better="lower",
            source=name_sources(data),
            about="Both axes are logarithmic. Faint points on dashed lines: published figures. "
            "Without a node meter, the rest of the node is assumed.",
            alt=f"{title}, {len(data)} points. The table has the same values.",
            table=table,
            spec=build_spec(alt.layer(lines, draw_points(base, styles)), HEIGHT),
        )
    ]
