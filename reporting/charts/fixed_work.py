"""The charts of fixed work: energy of whole nodes against batch size, one chart for each kind of
work and one line for each configuration."""

import json

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
from reporting.report_table import ReportTable, TableRow, format_number
from reporting.sections.cells import IN_CHART
from reporting.sections.nodes.fixed_work import list_charted_work
from rules.workloads import pluralize_item, workloads

_BATCH, _ENERGY = "batch", "node_kwh"


def build_fixed_work_charts(table: ReportTable) -> list[Chart]:
    """The configurations that the table has at several batch sizes; none without one."""
    return [_build_chart(table, id, work) for id, work in list_charted_work(table).items()]


def _build_chart(table: ReportTable, id: str, work: str) -> Chart:
    data = [row for row in table.data if row[IN_CHART] and row["work"] == work]
    styles = assign_styles(data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum.{IN_CHART} && datum.work == {json.dumps(work)}")
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
    title = f"Energy of {_describe_work(work, data[0])} against batch size"
    return Chart(
        id=id,
        title=title,
        better="lower",
        source=name_sources(data),
        about="Both axes are logarithmic. Faint points on dashed lines: published figures. "
        "Without a node meter, the rest of the node is assumed.",
        alt=f"{title}, {len(data)} points. The table has the same values.",
        table=table,
        spec=build_spec(alt.layer(lines, draw_points(base, styles)), HEIGHT),
    )


def _describe_work(work: str, row: TableRow) -> str:
    """`10 000 000 images of ResNet-50 training`."""
    workload = workloads().get(work)
    items = f"{format_number(float(row['items'] or 0), 2)} {pluralize_item(str(row['item']))}"
    return f"{items} of {workload.title if workload else work}"
