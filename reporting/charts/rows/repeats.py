"""The chart of repeats: how far the runs of each setting are from their mean."""

from collections.abc import Callable
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, name_sources
from reporting.charts.rows.layout import (
    MAX_ROWS,
    NAME_STYLE,
    Y_OF_ROWS,
    build_row_spec,
    note_limit,
    shade,
)
from reporting.charts.style import (
    GROUPED_DIGITS,
    Data,
    assign_styles,
    draw_points,
    select_numbers,
)
from reporting.report_table import ReportTable
from reporting.sections.cells import pluralize

_OFF, _MEAN, _LIMIT = "off_mean_percent", "mean_percent", "board_limit_percent"
_REPEATED = f"datum.runs > 1 && datum.{_OFF} != null"
_ROW_PX = 32
_BOARD_NAME = (
    "indexof(datum.board, ' ') > 0 ? length(split(datum.board, ' ')) + ' boards' "
    ": '\u2026' + slice(datum.board, -4)"
)
_LABEL_SHARE = 0.35
"""Room for the names of boards left of the points, as a share of the half range."""


def build_repeats_chart(table: ReportTable) -> list[Chart]:
    """Energy per item of repeated runs against the mean of their setting, one row for each setting
    and board; none without repeats."""
    data = [
        row
        for row in table.data
        if row.get(_OFF) is not None and isinstance(runs := row["runs"], int) and runs > 1
    ]
    if not data:
        return []
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(_REPEATED)
        # Each setting has a row of its own above those of its boards.
        .transform_window(place_of_setting="dense_rank()", sort=[alt.SortField("setting")])
        .transform_window(
            place_of_board="dense_rank()", sort=[alt.SortField("setting"), alt.SortField("board")]
        )
        .transform_calculate(row_place="datum.place_of_setting + datum.place_of_board")
        .transform_filter(f"datum.row_place <= {MAX_ROWS + 1}")
        .encode(y=Y_OF_ROWS)
    )
    make_axis = _make_axis(table, data)
    layers = [
        *_shade_limit(base, data, make_axis),
        *_draw_settings(base, table, make_axis),
        draw_points(base.encode(x=make_axis(_OFF)), assign_styles(data), legend=False),
        _name_boards(base),
    ]
    rows = len({(row["setting"], row["board"]) for row in data})
    settings = len({row["setting"] for row in data})
    shaded_note = (
        "Shaded: two runs within it are not told apart. " if select_numbers(data, _LIMIT) else ""
    )
    return [
        Chart(
            f"{table.id}-repeats",
            "Energy per item of repeats against the mean of their setting",
            f"{note_limit(rows + settings, 'rows')}Each point is one run; each row of points is "
            "one board, named by the end of its UUID. Below the name of a setting: its mean and "
            "the 95 % interval of another run on another board, cut where it reaches beyond the "
            "chart. "
            f"{shaded_note}Hollow points: the result is not compared.",
            f"Energy per item against the mean of the setting, {pluralize(len(data), 'run')} of "
            f"{pluralize(settings, 'setting')}. The table has the same values.",
            table,
            build_row_spec(layers, rows + settings, _ROW_PX),
            source=name_sources(data),
        )
    ]


def _make_axis(table: ReportTable, data: Data) -> Callable[[str], Any]:
    """The axis of all layers, symmetric around the mean. Intervals of few runs may reach beyond."""
    off = [abs(percent) for percent in select_numbers(data, _OFF)]
    bands = [percent / 2 for percent in select_numbers(data, _LIMIT)]
    half_range = max([*off, *bands]) * 1.1 or 1
    scale = alt.Scale(
        # A longer interval ends at the edge. A clipped mark keeps its width if the page changes.
        clamp=True,
        domain=[-(1 + _LABEL_SHARE) * half_range, half_range],
        nice=False,
        zero=False,
    )
    title = table.get_column(_OFF).label
    return lambda field: alt.X(
        f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, labelExpr=GROUPED_DIGITS)
    )


def _shade_limit(base: Any, data: Data, make_axis: Callable[[str], Any]) -> list[Any]:
    """Shade a span of the width of the board spread around the mean, in the row of each board. None
    where settings are not compared."""
    if not select_numbers(data, _LIMIT):
        return []
    span = base.transform_aggregate(
        limit=f"max({_LIMIT})", groupby=["row_place"]
    ).transform_calculate(span_start="-datum.limit / 2", span_end="datum.limit / 2")
    return [shade(span, make_axis("span_start"), "span_end")]


def _draw_settings(base: Any, table: ReportTable, make_axis: Callable[[str], Any]) -> list[Any]:
    """The name of each setting, its mean, and the interval of the mean, above the rows of its
    boards."""
    unit = table.get_column("joules_per_item").unit
    settings = base.transform_aggregate(
        first_place="min(row_place)",
        mean="max(joules_mean)",
        runs="max(runs)",
        low=f"min({_MEAN}_low)",
        high=f"max({_MEAN}_high)",
        groupby=["setting"],
    ).transform_calculate(
        row_place="datum.first_place - 1",
        zero="0",
        row_name="datum.setting + ': ' + format(datum.mean, '.4~r') + "
        f"' {unit}, n = ' + datum.runs",
    )
    return [
        settings.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=make_axis("low"), x2=alt.X2("high:Q")
        ),
        settings.mark_tick(thickness=2, size=14, opacity=1).encode(x=make_axis("zero")),
        settings.mark_text(**NAME_STYLE).encode(text=alt.Text("row_name:N")),
    ]


def _name_boards(base: Any) -> Any:
    """The name of each board at the left of its row."""
    return (
        base.transform_aggregate(groupby=["row_place", "board"])
        .transform_calculate(row_name=_BOARD_NAME)
        .mark_text(align="left", baseline="middle", x=2, fontSize=11)
        .encode(text=alt.Text("row_name:N"))
    )
