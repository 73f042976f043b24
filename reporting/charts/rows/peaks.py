"""Charts of runs of all workloads: achieved FLOP/s below the dense peak, and measured energy over
the naive estimate."""

from collections.abc import Callable
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.rows.layout import (
    build_row_spec,
    note_limit,
    place_settings,
    write_names,
)
from reporting.charts.style import (
    assign_styles,
    draw_crosses,
    draw_points,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable
from reporting.sections.cells import IN_CHART

_ONE_LOAD = "Of settings that differ in batch size or load only: the one nearest to its peak. "


def build_peak_charts(table: ReportTable) -> list[Chart]:
    """Achieved FLOP/s, and the energy of each run over its naive estimate."""
    return [*_build_achieved_chart(table), _build_naive_chart(table)]


def _build_achieved_chart(table: ReportTable) -> list[Chart]:
    """Achieved FLOP/s of each setting beside the dense peak of its precision; none without
    FLOP/s."""
    key, peak_key = "achieved_tflops", "peak_tflops"
    data = [row for row in table.data if row.get(key) is not None and row[IN_CHART]]
    if not data:
        return []
    base = place_settings(
        alt.Chart(alt.NamedData(table.id)).transform_filter(
            f"datum.{key} != null && datum.{IN_CHART}"
        ),
        key,
    )
    highest = max(select_numbers(data, key, peak_key))

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, table.get_column(key).label, highest)

    # The length that is missing is what the run leaves unused.
    below_peak = base.mark_rule(strokeWidth=0.7).encode(
        x=make_axis(key), x2=alt.X2(f"{peak_key}:Q")
    )
    peak = base.mark_tick(thickness=2, size=16, opacity=1).encode(x=make_axis(peak_key))
    points = base.encode(x=make_axis(key))
    layers = [
        below_peak,
        peak,
        draw_points(points, assign_styles(data), legend=False),
        draw_crosses(points),
        _write_shares(base, key, make_axis),
        write_names(base),
    ]
    count = len({row["setting"] for row in data})
    return [
        Chart(
            f"{table.id}-peak",
            "Achieved FLOP/s and the dense peak of the precision",
            f"{note_limit(count, 'settings')}{_ONE_LOAD}Upright lines: dense peak of the board at "
            "the precision of the run. Points: FLOPs of the model per second, with their share "
            "of the peak (MFU). Repeats are on one row. The chart has no slope of memory "
            "bandwidth, because bundles record no memory traffic.",
            f"Achieved FLOP/s of {len(data)} runs of {count} settings beside the dense peak. "
            "The table has the same values.",
            table,
            build_row_spec(layers, count),
            better="higher",
            source=name_sources(data),
        )
    ]


def _write_shares(base: Any, key: str, make_axis: Callable[[str], Any]) -> Any:
    """Write the mean share of the peak of each setting below and right of its points."""
    return (
        base.transform_aggregate(
            achieved=f"mean({key})", share="mean(mfu_percent)", groupby=["row_place"]
        )
        .transform_calculate(share_text="format(datum.share, '.2r') + ' %'")
        .mark_text(align="left", baseline="top", dx=8, dy=3, fontSize=11)
        .encode(x=make_axis("achieved"), text=alt.Text("share_text:N"))
    )


def _build_naive_chart(table: ReportTable) -> Chart:
    """The energy of each run over its naive estimate, by workload."""
    key = "over_naive"
    data = [row for row in table.data if row[IN_CHART]]
    base = place_settings(
        alt.Chart(alt.NamedData(table.id)).transform_filter(f"datum.{IN_CHART}"), key
    )
    base = base.transform_calculate(naive="1")
    highest = max(select_numbers(data, key, f"{key}_high"))
    title = table.get_column(key).label

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, title, highest)

    above_naive = base.mark_rule(strokeWidth=0.7).encode(
        x=make_axis("naive"), x2=alt.X2(f"{key}:Q")
    )
    naive = base.mark_tick(thickness=2, size=16, opacity=1).encode(x=make_axis("naive"))
    points = base.encode(x=make_axis(key))
    layers = [
        above_naive,
        naive,
        draw_points(points, assign_styles(data), legend=False),
        draw_crosses(points),
        write_names(base),
    ]
    count = len({row["setting"] for row in data})
    return Chart(
        f"{table.id}-marks",
        table.title,
        f"{note_limit(count, 'settings')}{_ONE_LOAD}Upright lines: the naive estimate. Repeats "
        f"are on one row. {table.about}",
        f"{title} of {len(data)} runs. The table has the same values.",
        table,
        build_row_spec(layers, count),
        better="lower",
        source=name_sources(data),
    )
