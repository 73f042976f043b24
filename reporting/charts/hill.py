"""The efficiency hill: efficiency against throughput, with the caps as labels along the curves.

Only measured or published points are drawn, joined by straight lines; nothing is fitted or
smoothed.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from reporting.charts.captions import count_points, explain_marks
from reporting.charts.chart import Chart, name_sources
from reporting.charts.encoding import find_look
from reporting.charts.label_layout import Label, Plot, PlotPoint, place_labels
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    INK,
    ROW_NUMBER,
    Data,
    LineStyles,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_points,
    find_log_domain,
    make_log_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, Value
from rules.metrics.power.profile import with_node_overhead

_CAP = "cap_w"
_RATE = "items_per_s_per_accelerator"
_EFFICIENCY, _WITH_NODE = "items_per_joule", "node_items_per_joule_assumed"
_LARGEST_SHARE_W = 200.0
"""Per accelerator: what logs of MLPerf show beside the boards of eight-GPU nodes."""
_MAX_LABELS = 80
"""Charts with more points have no labels; tooltips and the table show the caps."""

_NARROW_END_PX = 420
"""Width from which a plot has the labels of a wide one."""
_WIDE = Plot(least_width_px=420, greatest_width_px=900, height_px=EFFICIENCY_HEIGHT, font_px=10)
_NARROW = Plot(least_width_px=220, greatest_width_px=420, height_px=EFFICIENCY_HEIGHT, font_px=9)
_SMALL_WIDTH_PX, _SMALL_HEIGHT_PX = 260, 160
_SMALL = Plot(least_width_px=150, greatest_width_px=340, height_px=_SMALL_HEIGHT_PX, font_px=9)

_POINT_PX, _PEAK_PX, _RING_PX = 4.7, 8.2, 10.7
"""Radii of a point, of the peak of a line, and of the ring of a front."""


def build_hill_charts(table: ReportTable) -> list[Chart]:
    """The hill of a table of results, and its small form for the top of the page."""
    data = [row for row in table.data if row[_EFFICIENCY] and row[_RATE]]
    if not data:
        return []
    # Demo runs are not compared, so they are not at the top of the page.
    is_compared = any(row["standing"] != "demo" for row in data)
    return [_build_hill(table, data), *([_build_small_hill(table, data)] if is_compared else [])]


def _build_hill(table: ReportTable, data: Data) -> Chart:
    """The hill with a switch that adds the assumed power of the rest of the node."""
    styles = assign_styles(data)
    # A parameter of the spec: Vega draws the switch and redraws the points.
    node_switch = alt.param(
        name="node",
        value=False,
        bind=alt.binding_checkbox(name="add the node share of Mayr et al. (assumption) "),
    )
    # With all values the axis stays in place when the switch is used, and when the reader raises
    # the node share to what logs of MLPerf show.
    efficiencies = select_numbers(data, _EFFICIENCY, _WITH_NODE)
    efficiencies += [
        with_node_overhead(rate, rate / efficiency, _LARGEST_SHARE_W, 1)
        for row in data
        for rate, efficiency in [select_numbers([row], _RATE, _EFFICIENCY)]
    ]
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{_EFFICIENCY}'] && datum['{_RATE}']")
        .transform_calculate(
            efficiency=f"node ? datum['{_WITH_NODE}'] : datum['{_EFFICIENCY}']",
            best="node ? datum.peak_node : datum.peak",
            ahead="node ? datum.front_node : datum.front",
        )
        .encode(
            x=make_log_axis(
                alt.X, _RATE, table.get_column(_RATE).label, select_numbers(data, _RATE)
            ),
            y=make_log_axis(alt.Y, "efficiency", table.get_column(_EFFICIENCY).label, efficiencies),
        )
    )
    states = (_EFFICIENCY, _WITH_NODE)
    texts = {n: _name_cap(row) for n, row in _select_labelled(table.data, every_cap=True).items()}
    wide, narrow = (
        _place(table, texts, states, find_log_domain(efficiencies), plot)
        for plot in (_WIDE, _NARROW)
    )
    labels = [
        draw_labels(base, wide, _WIDE.font_px, f"width >= {_NARROW_END_PX}"),
        draw_labels(base, narrow, _NARROW.font_px, f"width < {_NARROW_END_PX}"),
    ]
    layers = [*_draw_curves(base, styles, is_small=False), *labels]
    axes = f"{table.get_column(_EFFICIENCY).label} against {table.get_column(_RATE).label}"
    return Chart(
        id=f"{table.id}-efficiency",
        title="Efficiency against performance",
        about=_describe(data),
        alt=f"{axes}, {count_points(data)}",
        table=table,
        spec=build_spec(alt.layer(*layers).add_params(node_switch), EFFICIENCY_HEIGHT),
        better="higher",
        source=name_sources(data),
    )


def _build_small_hill(table: ReportTable, data: Data) -> Chart:
    """The hill of about 260 by 220 pixels, with labels at the peaks and the default caps."""
    efficiencies = select_numbers(data, _EFFICIENCY)
    rate, efficiency = table.get_column(_RATE), table.get_column(_EFFICIENCY)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{_EFFICIENCY}'] && datum['{_RATE}']")
        .transform_calculate(best="datum.peak", ahead="datum.front")
        .encode(
            x=make_log_axis(alt.X, _RATE, rate.unit, select_numbers(data, _RATE)),
            y=make_log_axis(alt.Y, _EFFICIENCY, efficiency.unit, efficiencies),
        )
    )
    texts = _name_small_labels(table.data)
    labels = _place(table, texts, (_EFFICIENCY,), find_log_domain(efficiencies), _SMALL)
    layers = [
        *_draw_curves(base, assign_styles(data), is_small=True),
        draw_labels(base, labels, _SMALL.font_px, "true"),
    ]
    title = table.title.partition(":")[0]
    return Chart(
        id=f"{table.id.removesuffix('-results')}-hill-small",
        title=title,
        about=f"Efficiency against throughput. {_LABELS}",
        alt=f"{title}: {efficiency.label} against {rate.label}, {count_points(data)}",
        table=table,
        spec=build_spec(alt.layer(*layers), _SMALL_HEIGHT_PX),
        better="higher",
        source=name_sources(data),
        width_px=_SMALL_WIDTH_PX,
    )


def _draw_curves(base: Any, styles: LineStyles, is_small: bool) -> list[Any]:
    """Lines along the caps, rings of the fronts, points, and crosses over implausible ones."""
    legend = None if is_small else styles.legend
    line = (
        base.transform_filter("!datum.doubt")
        .mark_line(strokeWidth=1.3)
        .encode(
            order=f"{_CAP}:Q",
            stroke=alt.Stroke("line:N", scale=styles.colour, legend=legend),
            strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=legend),
        )
    )
    # A ring around a point leaves its colour and shape readable. Published figures have a front of
    # their own.
    ring = base.transform_filter("datum.ahead").mark_point(
        shape="circle", size=330, strokeWidth=1, stroke=INK, filled=False
    )
    rings = [
        ring.transform_filter("datum.standing != 'published'"),
        ring.transform_filter("datum.standing == 'published'").encode(strokeDash=alt.value([3, 2])),
    ]
    return [
        line,
        *([] if is_small else rings),
        draw_points(base, styles, "datum.best", legend=not is_small),
        draw_crosses(base),
    ]


_LABELS = (
    "Numbers at the points are caps in W, with the number of accelerators if there are several. "
    "Larger points: most efficient point of the line. Both axes are logarithmic."
)


def _describe(data: Data) -> str:
    return (
        f"{_LABELS} Rings: Pareto front of each standing, dashed for published figures; no "
        "compared point of it has both higher throughput and higher efficiency. Published points "
        f"assume power = cap. {explain_marks(data)} The switch adds the node share that "
        "Mayr et al. assume (100 W per node of four accelerators, unless changed below)."
    )


def _select_labelled(data: Data, every_cap: bool) -> dict[int, Mapping[str, Value]]:
    """The rows that get a label, by their number: peaks first, then the highest caps of the lines,
    then the others if `every_cap`. Of repeated runs at a cap, the most efficient one stands for
    all."""
    by_setting: dict[tuple[Value, Value], list[int]] = {}
    for number, row in enumerate(data):
        if row[_RATE] and row[_EFFICIENCY] and row[_CAP] is not None:
            by_setting.setdefault((row["line"], row[_CAP]), []).append(number)
    # A number is the same number in the static picture and after a filter.
    best_numbers = [
        max(numbers, key=lambda n: (bool(data[n].get("peak")), float(data[n][_EFFICIENCY] or 0)))
        for numbers in by_setting.values()
    ]
    highest_caps = {
        line: max(float(cap or 0) for other, cap in by_setting if other == line)
        for line, _ in by_setting
    }

    def rank(number: int) -> int:
        row = data[number]
        if row.get("peak"):
            return 0
        return 1 if row[_CAP] == highest_caps[row["line"]] else 2

    numbers = [n for n in sorted(best_numbers, key=rank) if every_cap or rank(n) < 2]
    return {n: data[n] for n in numbers} if len(numbers) <= _MAX_LABELS else {}


def _name_small_labels(data: Data) -> dict[int, str]:
    """The labels of the small hill by the number of their row: peaks and highest caps. There is no
    legend, so the peak of a line and a line with one cap name their board and precision. Of lines
    with one cap and one look, the most efficient one stands for all."""
    caps_by_line: dict[Value, set[Value]] = {}
    for row in data:
        caps_by_line.setdefault(row["line"], set()).add(row[_CAP])
    texts: dict[int, str] = {}
    named_looks = set()
    numbers = _select_labelled(data, every_cap=False)
    for number in sorted(numbers, key=lambda n: -float(data[n][_EFFICIENCY] or 0)):
        row = data[number]
        look = find_look(row)
        is_alone = len(caps_by_line[row["line"]]) == 1
        if row.get("peak") or (is_alone and look not in named_looks):
            precision = f" {row['precision']}" if row.get("precision") else ""
            texts[number] = f"{row['model']}{precision} · {_name_cap(row)}"
            named_looks.add(look)
        elif not is_alone:
            texts[number] = _name_cap(row)
    # The order of importance is that of the selection.
    return {number: texts[number] for number in numbers if number in texts}


def _name_cap(row: Mapping[str, Value]) -> str:
    count = row.get("count")
    return f"{row[_CAP]:g}" + (f" \u00d7 {count}" if isinstance(count, int) and count > 1 else "")


def _place(
    table: ReportTable,
    texts: Mapping[int, str],
    states: Sequence[str],
    efficiency_domain: tuple[float, float],
    plot: Plot,
) -> list[Label]:
    """Places of the labels. `texts` has them by the number of the row, in the order of their
    importance. `states` has the columns that the chart draws as efficiency."""
    rates = select_numbers([row for row in table.data if row[_RATE] and row[_EFFICIENCY]], _RATE)
    rate_domain = find_log_domain(rates)

    def make_point(number: int, row: Mapping[str, Value]) -> PlotPoint:
        # A point without an assumed share does not move.
        values = [row.get(key) or row[_EFFICIENCY] for key in states]
        return PlotPoint(
            row=number,
            x_share=_find_share(float(row[_RATE] or 0), rate_domain),
            y_px=tuple(
                (1 - _find_share(float(value or 0), efficiency_domain)) * plot.height_px
                for value in values
            ),
            radius_px=_RING_PX if row.get("front") else _PEAK_PX if row.get("peak") else _POINT_PX,
            label=texts.get(number, ""),
        )

    points = {
        number: make_point(number, row)
        for number, row in enumerate(table.data)
        if row[_RATE] and row[_EFFICIENCY]
    }
    lines: dict[Value, list[int]] = {}
    for number in sorted(points, key=lambda n: float(table.data[n][_CAP] or 0)):
        if not table.data[number]["doubt"]:
            lines.setdefault(table.data[number]["line"], []).append(number)
    order = [*texts, *(number for number in points if number not in texts)]
    return place_labels(
        [points[number] for number in order],
        [[points[number] for number in line] for line in lines.values()],
        plot,
    )


def _find_share(value: float, domain: tuple[float, float]) -> float:
    """Where a value is on a logarithmic axis, from 0 to 1."""
    low, high = domain
    return math.log(value / low) / math.log(high / low)


def draw_labels(base: Any, labels: Sequence[Label], font_px: float, condition: str) -> Any:
    """Write labels beside the points, where the Vega expression `condition` is true. The spec
    refers to rows by their number."""
    places = [
        {ROW_NUMBER: label.row, "label": label.text, "dx": label.dx_px, "dy": label.dy_px}
        for label in labels
    ]
    lookup = alt.LookupData(
        data=alt.InlineData(values=places), key=ROW_NUMBER, fields=["label", "dx", "dy"]
    )
    return (
        base.transform_lookup(ROW_NUMBER, from_=lookup)
        .transform_filter("datum.label != null")
        .mark_text(
            baseline="middle",
            dx=alt.ExprRef("datum.dx"),
            dy=alt.ExprRef("datum.dy"),
            fontSize=font_px,
            opacity=alt.ExprRef(f"{condition} ? 1 : 0"),
        )
        .encode(text="label:N")
    )
