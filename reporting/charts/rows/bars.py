"""Dot and bar charts of rows: energy with intervals, scaling, tuned and baseline."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.rows.layout import (
    COMPARED,
    MAX_ROWS,
    build_row_spec,
    note_equal_names,
    note_limit,
    place_rows,
    place_runs,
    shade,
    write_names,
)
from reporting.charts.style import (
    SETTING_KEYS,
    Data,
    LineStyles,
    assign_styles,
    draw_crosses,
    draw_points,
    is_wide,
    make_linear_axis,
    make_log_axis,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, Value

_LIMIT = "board_limit_percent"
_HOLLOW = "Hollow points, last: the result is not compared; the tooltip gives the reason. "
_LOG_NOTE = "Logarithmic axis. "
_INTERVAL_NOTE = "Bars: the 95 % interval of another run on another board. "
_SHADED = "Shaded: single runs on two boards that are so near {} are not told apart. "


def _make_energy_axis(
    table: ReportTable, key: str, axis_rows: Data, values: Sequence[float], field: str
) -> Any:
    if is_wide(values):
        return make_log_axis(alt.X, field, table.get_column(key).label, values)
    return make_linear_axis(alt.X, table, key, axis_rows, field)


def _draw_interval(
    base: alt.Chart, key: str, make_axis: Callable[[str], Any], styles: LineStyles
) -> Any:
    return base.mark_rule(strokeWidth=2, opacity=1).encode(
        x=make_axis(f"{key}_low"),
        x2=alt.X2(f"{key}_high:Q"),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=None),
    )


def build_energy_chart(table: ReportTable) -> list[Chart]:
    """Energy per item of each measured run, lowest first, with its 95 % interval if it has one.
    Results that may not win come last."""
    key = "joules_per_item"
    data = [row for row in table.data if row.get(f"{key}_kind") == "measured"]
    # A single run has nothing to be compared with.
    if len(data) < 2:
        return []
    # The spec sorts and cuts the rows itself. This copy gives styles and axis, so both must select
    # the same rows.
    drawn_rows = sorted(data, key=lambda row: (not _may_win(row), float(row[key] or 0)))[:MAX_ROWS]
    styles = assign_styles(drawn_rows)
    runs = alt.Chart(alt.NamedData(table.id)).transform_filter(f"datum['{key}_kind'] == 'measured'")
    base = place_runs(
        runs.transform_calculate(held_back=f"{COMPARED} ? 0 : 1"),
        # The chart numbers its rows, because the table has another order.
        [alt.SortField("held_back"), alt.SortField(key)],
    )
    limits = select_numbers(data, _LIMIT)
    standing, joules = _select_leaders(data, key)
    is_shaded = bool(limits and joules)
    # The axis must hold the end of the shaded span.
    span_end = min(joules) * (1 + limits[0] / 100) if is_shaded else None

    axis_rows: Data = [*drawn_rows, {key: span_end}]
    values = select_numbers(table.widen(axis_rows), key, f"{key}_low", f"{key}_high")
    make_axis = partial(_make_energy_axis, table, key, axis_rows, values)
    # Without its interval, a small difference of two points would look like a result.
    interval = _draw_interval(base, key, make_axis, styles)
    # No legend: the name of each run is written above its mark.
    points = base.encode(x=make_axis(key))
    marks = [draw_points(points, styles, legend=False), draw_crosses(points), write_names(base)]
    layers = [interval, *marks]
    if is_shaded:
        layers.insert(0, _shade_lowest(base, key, standing, make_axis))
    has_intervals = bool(select_numbers(drawn_rows, f"{key}_low"))
    notes = (
        note_limit(len(data), "runs, by energy"),
        _LOG_NOTE if is_wide(values) else "",
        _INTERVAL_NOTE if has_intervals else "",
        note_equal_names(drawn_rows),
        _SHADED.format(f"the lowest mean of a {standing} setting") if is_shaded else "",
        "" if all(map(_may_win, drawn_rows)) else _HOLLOW,
    )
    with_intervals = " with 95 % intervals" if has_intervals else ""
    label = table.get_column(key).label
    return [
        Chart(
            f"{table.id}-energy",
            f"Energy per item{with_intervals}",
            "".join(notes).strip(),
            f"{label} of {len(drawn_rows)} runs{with_intervals}. The table has the same values.",
            table,
            build_row_spec(layers, len(data)),
            better="lower",
            source=name_sources(drawn_rows),
        )
    ]


def _select_leaders(data: Data, key: str) -> tuple[str, list[float]]:
    """The standing that the chart shades, and the means of its compared settings: closed results if
    there are any, else open ones. The two are not compared with each other."""
    compared_rows = [row for row in data if _may_win(row)]
    standing = "closed" if any(row["standing"] == "closed" for row in compared_rows) else "open"
    settings: dict[tuple[Value, ...], list[float]] = {}
    for row in compared_rows:
        if row["standing"] == standing:
            setting = tuple(row.get(name) for name in SETTING_KEYS)
            settings.setdefault(setting, []).append(float(row[key] or 0))
    return standing, [fmean(values) for values in settings.values()]


def _shade_lowest(base: Any, key: str, standing: str, make_axis: Callable[[str], Any]) -> Any:
    """Shade the board spread above the lowest mean of the compared settings of a standing."""
    spans = (
        base.transform_calculate(
            leader=f"{COMPARED} && datum.standing == '{standing}' ? datum['{key}'] : null"
        )
        .transform_joinaggregate(setting_mean="mean(leader)", groupby=list(SETTING_KEYS))
        .transform_joinaggregate(lowest="min(setting_mean)", limit=f"max({_LIMIT})")
        .transform_calculate(span_end="datum.lowest * (1 + datum.limit / 100)")
    )
    return shade(spans, make_axis("lowest"), "span_end")


def _may_win(row: Any) -> bool:
    return not (row.get("doubt") or row.get("withheld") or row.get("implausible"))


def build_scaling_chart(table: ReportTable) -> list[Chart]:
    """Speed-up over one accelerator, with perfect scaling for comparison, one row for each run."""
    key = "speed_up"
    data = [row for row in table.data if row.get(key) is not None]
    if not data:
        return []
    drawn_rows = data[:MAX_ROWS]
    styles = assign_styles(drawn_rows)
    base = place_rows(
        alt.Chart(alt.NamedData(table.id)).transform_filter(f"datum.{key} != null")
    ).transform_calculate(zero="0")
    # The axis must also hold the mark of perfect scaling, which is at the number of accelerators.
    highest = max(select_numbers(drawn_rows, key, f"{key}_high", "count"))

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, table.get_column(key).label, highest)

    bar = base.mark_bar(height=10, strokeWidth=1.5, tooltip={"content": "data"}).encode(
        x=make_axis("zero"),
        x2=alt.X2(f"{key}:Q"),
        fill=alt.Fill("line:N", scale=styles.colour, legend=None),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=None),
        # A filled bar in doubt would look like a measured speed-up.
        fillOpacity=alt.FillOpacityValue(0, condition={"test": COMPARED, "value": 0.85}),
    )
    interval = base.mark_rule(strokeWidth=1.5).encode(
        x=make_axis(f"{key}_low"), x2=alt.X2(f"{key}_high:Q")
    )
    perfect_scaling = base.mark_tick(thickness=2, size=18, opacity=1).encode(x=make_axis("count"))
    layers = [
        *_shade_around(base, drawn_rows, "count", make_axis),
        bar,
        interval,
        perfect_scaling,
        write_names(base),
    ]
    shaded_note = _SHADED.format("perfect scaling") if select_numbers(drawn_rows, _LIMIT) else ""
    return [
        Chart(
            f"{table.id}-bars",
            "Speed-up over one accelerator",
            f"{note_limit(len(data))}Compared with runs on one accelerator of the same model at "
            "the same cap. Upright lines across bars: perfect scaling. Thin lines: 95 % intervals. "
            f"{shaded_note}Hollow bars: the result is not compared; the table gives the reason.",
            f"Speed-up over one accelerator of {len(data)} runs. The table has the same values.",
            table,
            build_row_spec(layers, len(data)),
            better="higher",
            source=name_sources(drawn_rows),
        )
    ]


def build_tuned_chart(table: ReportTable) -> list[Chart]:
    """Throughput of tuned and baseline variants on the same boards at the same cap."""
    key, baseline_key = "items_per_s_per_accelerator", "baseline_rate"
    data = [row for row in table.data if row[key] is not None and row[baseline_key] is not None]
    if not data:
        return []
    drawn_rows = data[:MAX_ROWS]
    styles = assign_styles(drawn_rows)
    base = place_rows(
        alt.Chart(alt.NamedData(table.id)).transform_filter(
            f"datum['{key}'] != null && datum['{baseline_key}'] != null"
        )
    )
    highest = max(select_numbers(drawn_rows, key, baseline_key))

    def make_axis(field: str) -> Any:
        return make_zero_axis(alt.X, field, table.get_column(key).label, highest)

    # A line between two marks shows which of them belong together.
    connector = base.mark_rule(strokeWidth=1, opacity=1).encode(
        x=make_axis(baseline_key), x2=alt.X2(f"{key}:Q")
    )
    baseline = base.mark_tick(thickness=2, size=18, opacity=1).encode(x=make_axis(baseline_key))
    layers = [
        *_shade_around(base, drawn_rows, baseline_key, make_axis),
        connector,
        baseline,
        draw_points(base.encode(x=make_axis(key)), styles, legend=False),
        write_names(base),
    ]
    shaded_note = _SHADED.format("the baseline") if select_numbers(drawn_rows, _LIMIT) else ""
    return [
        Chart(
            f"{table.id}-pairs",
            "Throughput of each variant and of the baseline variant",
            f"{note_limit(len(data))}Upright lines: baseline variant. Points: other variants, "
            f"named above. {shaded_note}Both have the same system, number of accelerators and cap.",
            f"Throughput of each variant and of the baseline variant, {len(data)} pairs. The table "
            "has the same values.",
            table,
            build_row_spec(layers, len(data)),
            better="higher",
            source=name_sources(drawn_rows),
        )
    ]


def _shade_around(base: Any, data: Data, key: str, make_axis: Callable[[str], Any]) -> list[Any]:
    """Shade the board spread around the value at `key` of each row. Rows that are not compared have
    none."""
    if not select_numbers(data, _LIMIT):
        return []
    spans = base.transform_filter(f"datum.{_LIMIT} != null").transform_calculate(
        span_start=f"datum['{key}'] * (1 - datum.{_LIMIT} / 100)",
        span_end=f"datum['{key}'] * (1 + datum.{_LIMIT} / 100)",
    )
    return [shade(spans, make_axis("span_start"), "span_end")]
