"""Charts of power caps: a panel of one figure against the cap, which the reader selects, and energy
saved against extra time.

Only measured or published points are drawn, joined by straight lines; nothing is fitted or
smoothed. Points stand at the requested cap, also if the cap did not hold.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from reporting.charts.chart import Chart, count_points, explain_marks, name_sources
from reporting.charts.labels.caps import draw_caps, name_cap, place_caps, select_labelled
from reporting.charts.labels.layout import Label, Plot, PlotPoint
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    GROUPED_DIGITS,
    INK,
    POINT_PX,
    Data,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_lines,
    draw_points,
    find_linear_domain,
    make_linear_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, Value

_CAP = "cap_w"
_ENERGY, _TIME = "energy_gain_percent", "extra_time_percent"
_Scales = tuple[Callable[[float], float], Callable[[float], float]]
"""The place of an extra time, as a share of the width, and of an energy saved, in pixels."""


@dataclass(frozen=True)
class _Metric:
    """A figure that the panel can show."""

    key: str
    name: str
    """In the selector."""
    better: Literal["higher", "lower"]
    reference: int | None = None
    """The value at the default cap, drawn as a line."""


_METRICS = (
    _Metric("joules_per_item", "energy per item", "lower"),
    _Metric("items_per_s_per_accelerator", "throughput", "higher"),
    _Metric("relative_rate_percent", "throughput, relative", "higher", 100),
    _Metric("relative_efficiency_percent", "efficiency, relative", "higher", 100),
    _Metric("extra_time_percent", "extra time", "lower", 0),
    _Metric("energy_gain_percent", "energy saved", "higher", 0),
    _Metric("edp_gain_percent", "decrease of EDP", "higher", 0),
    _Metric("eds_gain_k15_percent", "decrease of EDS, k = 1.5", "higher", 0),
    _Metric("eds_gain_k2_percent", "decrease of EDS, k = 2", "higher", 0),
)
"""The first one is that of the static picture."""


def build_cap_charts(table: ReportTable) -> list[Chart]:
    """The panel, and energy saved against extra time; none of a table with a single cap."""
    panel = _build_panel(table)
    saving = _build_saving_chart(table)
    return [chart for chart in (panel, saving) if chart]


def _build_panel(table: ReportTable) -> Chart | None:
    metrics = [
        metric
        for metric in _METRICS
        if metric.key in table.keys and _count_caps(_select(table, metric.key)) > 1
    ]
    if not metrics:
        return None
    data = _select(table, *(metric.key for metric in metrics))
    choice = alt.param(
        name="metric",
        value=metrics[0].key,
        bind=alt.binding_select(
            options=[metric.key for metric in metrics],
            labels=[metric.name for metric in metrics],
            name="show ",
        ),
    )
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_calculate(figure="datum[metric]")
        .transform_filter(f"datum.{_CAP} != null && datum.figure != null")
        .encode(
            x=make_linear_axis(alt.X, table, _CAP, data),
            y=alt.Y(
                "figure:Q",
                # The labels of all figures have room, because the layout follows the first one.
                axis=alt.Axis(title=None, tickCount=6, labelExpr=GROUPED_DIGITS, minExtent=44),
                scale=alt.Scale(
                    domain=_make_domain(metrics, table.widen(data)), zero=False, nice=False
                ),
            ),
        )
    )
    styles = assign_styles(data)
    means = base.transform_filter("!datum.doubt").transform_aggregate(
        figure="mean(figure)", groupby=["line", _CAP]
    )
    layers = [
        _draw_references(metrics),
        draw_lines(means, styles, _CAP),
        draw_points(base, styles),
        draw_crosses(base),
    ]
    return Chart(
        id=f"{table.id}-caps",
        title="Effect of the power cap",
        about=f"Points stand at the requested cap. Lines join the means of repeated runs. "
        "Relative figures compare each line with its result at the default cap of the board, which "
        f"a horizontal line marks. {explain_marks(data)}",
        alt=f"{table.get_column(metrics[0].key).label} against {table.get_column(_CAP).label}, "
        f"{count_points(data)}",
        table=table,
        spec=build_spec(
            alt.layer(*layers, title=_write_title(metrics, table)).add_params(choice),
            EFFICIENCY_HEIGHT,
        ),
        source=name_sources(data),
    )


def _select(table: ReportTable, *keys: str) -> Data:
    """The rows with a cap and a value at one of the keys."""
    return [
        row
        for row in table.data
        if row[_CAP] is not None and any(row[key] is not None for key in keys)
    ]


def _count_caps(data: Data) -> int:
    return len({row[_CAP] for row in data})


def _make_domain(metrics: list[_Metric], data: Data) -> list[Any]:
    """The ends of the vertical axis for the chosen figure. They stay when rows are filtered."""
    domains = {
        metric.key: find_linear_domain(
            [
                *select_numbers(data, metric.key),
                *([] if metric.reference is None else [metric.reference]),
            ]
        )
        for metric in metrics
    }
    return [
        alt.ExprRef(f"({json.dumps({key: ends[n] for key, ends in domains.items()})})[metric]")
        for n in (0, 1)
    ]


def _draw_references(metrics: list[_Metric]) -> Any:
    """A horizontal line at the value of the default cap, for figures that have one."""
    values = json.dumps({m.key: m.reference for m in metrics if m.reference is not None})
    return (
        alt.Chart(alt.InlineData(values=[{}]))
        .transform_calculate(reference=f"({values})[metric]")
        .transform_filter("isValid(datum.reference)")
        .mark_rule(stroke=INK, opacity=0.5)
        .encode(y=alt.Y("reference:Q"))
    )


def _write_title(metrics: list[_Metric], table: ReportTable) -> Any:
    """The title of the vertical axis for the chosen figure. It stands above the plot, because the
    title of an axis cannot change. JSON is a literal of the expressions of Vega."""
    titles = {
        metric.key: f"{table.get_column(metric.key).label} ({metric.better} is better)"
        for metric in metrics
    }
    return alt.TitleParams(
        text=alt.ExprRef(f"({json.dumps(titles, ensure_ascii=False)})[metric]"),
        anchor="start",
        fontSize=12,
        fontWeight="normal",
        color=INK,
    )


def _build_saving_chart(table: ReportTable) -> Chart | None:
    """Energy saved against extra time, with the cap at each point."""
    if _ENERGY not in table.keys:
        return None
    data = [row for row in _select(table, _ENERGY) if row[_TIME] is not None]
    if _count_caps(data) < 2:
        return None
    styles = assign_styles(data)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{_ENERGY}'] != null && datum['{_TIME}'] != null")
        .encode(
            x=make_linear_axis(alt.X, table, _TIME, data),
            y=make_linear_axis(alt.Y, table, _ENERGY, data),
        )
    )
    reference = alt.Chart(alt.InlineData(values=[{}]))
    rows = {
        n: row
        for n, row in enumerate(table.rows)
        if row[_CAP] is not None and row[_ENERGY] is not None and row[_TIME] is not None
    }
    # The default caps of all lines lie where the two lines cross. Their labels would cover others.
    texts = {
        n: name_cap(rows[n])
        for n in select_labelled(rows, every_cap=True)
        if rows[n][_TIME] or rows[n][_ENERGY]
    }

    def place(plot: Plot) -> list[Label]:
        scales = _make_scales(table.widen(list(rows.values())), plot)
        points = _make_points(rows, table.node_rows, scales)
        return place_caps(rows, points, texts, plot, _list_zero_lines(scales, plot))

    layers = [
        reference.mark_rule(stroke=INK, opacity=0.5).encode(y=alt.YDatum(0)),
        reference.mark_rule(stroke=INK, opacity=0.5).encode(x=alt.XDatum(0)),
        draw_lines(base.transform_filter("!datum.doubt"), styles, _CAP),
        draw_points(base, styles),
        draw_crosses(base),
        *draw_caps(base, place),
    ]
    return Chart(
        id=f"{table.id}-saving",
        title="Energy saved against extra time",
        about="Relative to the default cap of each line, for the same work: where the two lines "
        f"cross. Numbers at the points are caps in W. {explain_marks(data)}",
        alt=f"{table.get_column(_ENERGY).label} against {table.get_column(_TIME).label}, "
        f"{count_points(data)}",
        table=table,
        spec=build_spec(alt.layer(*layers), EFFICIENCY_HEIGHT),
        better="higher",
        source=name_sources(data),
    )


def _make_points(
    rows: Mapping[int, Mapping[str, Value]],
    node_rows: Mapping[int, Mapping[str, Value]],
    scales: _Scales,
) -> dict[int, PlotPoint]:
    """The points of energy saved against extra time in the plot, by the number of their row."""
    find_x_share, find_y_px = scales
    return {
        number: PlotPoint(
            row=number,
            x_share=find_x_share(float(row[_TIME] or 0)),
            # In both scopes.
            y_px=(
                find_y_px(float(row[_ENERGY] or 0)),
                find_y_px(float(node_rows.get(number, row)[_ENERGY] or 0)),
            ),
            radius_px=POINT_PX,
        )
        for number, row in rows.items()
    }


def _list_zero_lines(scales: _Scales, plot: Plot) -> list[list[PlotPoint]]:
    """The lines at no extra time and at no energy saved."""
    find_x_share, find_y_px = scales
    x_share, y_px = find_x_share(0), find_y_px(0)
    return [
        [PlotPoint(-1, share, (y_px, y_px), 0) for share in (0, 1)],
        [PlotPoint(-1, x_share, (end_px, end_px), 0) for end_px in (0, plot.height_px)],
    ]


def _make_scales(data: Data, plot: Plot) -> _Scales:
    left, right = find_linear_domain(select_numbers(data, _TIME))
    bottom, top = find_linear_domain(select_numbers(data, _ENERGY))
    return (
        lambda time: (time - left) / (right - left),
        lambda energy: (top - energy) / (top - bottom) * plot.height_px,
    )
