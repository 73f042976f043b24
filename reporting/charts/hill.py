"""The efficiency hill: efficiency against throughput, with the caps as labels along the curves.

Only measured or published points are drawn, joined by straight lines; nothing is fitted or
smoothed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from reporting.charts.chart import Chart, count_points, explain_marks, name_sources
from reporting.charts.encoding import find_look, list_small_hill_rows
from reporting.charts.labels.caps import (
    draw_caps,
    draw_labels,
    name_cap,
    place_caps,
    select_labelled,
)
from reporting.charts.labels.layout import Label, Plot, PlotPoint
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    INK,
    POINT_PX,
    SETTING_KEYS,
    Data,
    LineStyles,
    assign_styles,
    build_spec,
    draw_crosses,
    draw_lines,
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
_SMALL_WIDTH_PX, _SMALL_HEIGHT_PX = 260, 160
_SMALL = Plot(least_width_px=165, greatest_width_px=340, height_px=_SMALL_HEIGHT_PX, font_px=11)

_PEAK_PX, _RING_PX = 8.2, 10.7
"""Radii of the peak of a line, and of the ring of a front."""


def build_hill_charts(table: ReportTable) -> list[Chart]:
    """The hill of a table of results, and its small form for the top of the page."""
    data = [row for row in table.data if row[_EFFICIENCY] and row[_RATE]]
    if not data:
        return []
    # At the top of the page are results that can be compared: no demo runs, and no single point.
    compared = [row for row in data if not row.get("withheld")]
    is_compared = len(compared) > 1 and any(row["standing"] != "demo" for row in data)
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
    efficiencies = select_numbers(table.widen(data), _EFFICIENCY, _WITH_NODE)
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
    rows = _select_drawn(table)
    texts = {n: name_cap(rows[n]) for n in select_labelled(rows, every_cap=True)}
    domain = find_log_domain(efficiencies)

    def place(plot: Plot) -> list[Label]:
        points = _make_points(
            rows, table.node_rows, (_EFFICIENCY, _WITH_NODE), domain, plot, has_rings=True
        )
        return place_caps(rows, points, texts, plot)

    layers = [*_draw_curves(base, styles, is_small=False), *draw_caps(base, place)]
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
    """The hill of about 260 by 220 pixels, with labels at the peaks and the default caps. It shows
    the measured points, or the published ones without any."""
    shown = list_small_hill_rows(data)
    is_shown = "datum.standing != 'published'" if len(shown) < len(data) else "true"
    rows = {n: row for n, row in _select_drawn(table).items() if row in shown}
    data = shown
    efficiencies = select_numbers(table.widen(data), _EFFICIENCY)
    rate, efficiency = table.get_column(_RATE), table.get_column(_EFFICIENCY)
    base = (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(f"datum['{_EFFICIENCY}'] && datum['{_RATE}'] && {is_shown}")
        .transform_calculate(best="datum.peak", ahead="datum.front")
        .encode(
            x=make_log_axis(alt.X, _RATE, rate.unit, select_numbers(data, _RATE)),
            y=make_log_axis(alt.Y, _EFFICIENCY, efficiency.unit, efficiencies),
        )
    )
    points = _make_points(
        rows,
        table.node_rows,
        (_EFFICIENCY,),
        find_log_domain(efficiencies),
        _SMALL,
        has_rings=False,
    )
    labels = place_caps(rows, points, _name_small_labels(rows), _SMALL)
    layers = [
        *_draw_curves(base, assign_styles(data), is_small=True),
        *draw_labels(base, labels, _SMALL.font_px, "true"),
    ]
    title = table.title.partition(":")[0]
    return Chart(
        id=f"{table.id.removesuffix('-results')}-hill-small",
        title=title,
        about=f"{_SMALL_LEGEND} {_LABELS}",
        alt=f"{title}: {efficiency.label} against {rate.label}, {count_points(data)}",
        table=table,
        spec=build_spec(alt.layer(*layers), _SMALL_HEIGHT_PX),
        better="higher",
        source=name_sources(data),
        width_px=_SMALL_WIDTH_PX,
    )


def _draw_curves(base: Any, styles: LineStyles, is_small: bool) -> list[Any]:
    """Lines along the caps at each batch size, rings of the fronts, points, and crosses over
    implausible ones."""
    # A ring around a point leaves its colour and shape readable. Published figures have a front of
    # their own.
    ring = base.transform_filter("datum.ahead").mark_point(
        shape="circle", size=330, strokeWidth=1, stroke=INK, filled=False
    )
    rings = [
        ring.transform_filter("datum.standing != 'published'"),
        ring.transform_filter("datum.standing == 'published'").encode(
            strokeDash=alt.StrokeDashValue([3, 2])
        ),
    ]
    return [
        # Points of different batch sizes are no points of one line.
        draw_lines(base.transform_filter("!datum.doubt"), styles, _CAP, legend=not is_small).encode(
            detail=alt.Detail("batch:N")
        ),
        *([] if is_small else rings),
        draw_points(base, styles, "datum.best", legend=not is_small),
        draw_crosses(base),
    ]


_LABELS = (
    "Numbers at the points: caps in W, and the number of accelerators if there are several. Larger "
    "points: most efficient cap of a line. Logarithmic axes."
)

_SMALL_LEGEND = (
    "Measured runs; published figures where a workload has none. Colour: board. Shape: precision "
    "or variant. Crossed: above the peak of the board. Hollow: not compared."
)
"""The small charts stand in a row and have no legends of their own."""


def _describe(data: Data) -> str:
    assumption = (
        " Published points assume power = cap."
        if any(row["standing"] == "published" for row in data)
        else ""
    )
    settings = {tuple(row.get(key) for key in SETTING_KEYS) for row in data}
    means = (
        "" if len(settings) == len(data) else " Points are runs; the title has means of settings."
    )
    return (
        f"{_LABELS} Rings: Pareto front of each standing, dashed if published.{means}{assumption} "
        f"{explain_marks(data)}"
    )


def _select_drawn(table: ReportTable) -> dict[int, Mapping[str, Value]]:
    """The drawn rows by their number in the table."""
    return {n: row for n, row in enumerate(table.rows) if row[_EFFICIENCY] and row[_RATE]}


def _name_small_labels(rows: Mapping[int, Mapping[str, Value]]) -> dict[int, str]:
    """The labels of the small hill by the number of their row: peaks and highest caps. There is no
    legend, so the peak of a line and a line with one cap name their board and precision. Of lines
    with one cap and one look, the most efficient one stands for all."""
    caps_by_line: dict[Value, set[Value]] = {}
    for row in rows.values():
        caps_by_line.setdefault(row["line"], set()).add(row[_CAP])
    texts: dict[int, str] = {}
    named_looks = set()
    numbers = select_labelled(rows, every_cap=False)
    for number in sorted(numbers, key=lambda n: -float(rows[n][_EFFICIENCY] or 0)):
        row = rows[number]
        look = find_look(row)
        is_alone = len(caps_by_line[row["line"]]) == 1
        if row.get("peak") or (is_alone and look not in named_looks):
            precision = f" {row['precision']}" if row.get("precision") else ""
            texts[number] = f"{row['model']}{precision} \u00b7 {name_cap(row)}"
            named_looks.add(look)
        elif not is_alone:
            texts[number] = name_cap(row)
    # The order of importance is that of the selection.
    return {number: texts[number] for number in numbers if number in texts}


def _make_points(
    rows: Mapping[int, Mapping[str, Value]],
    node_rows: Mapping[int, Mapping[str, Value]],
    states: Sequence[str],
    efficiency_domain: tuple[float, float],
    plot: Plot,
    has_rings: bool,
) -> dict[int, PlotPoint]:
    """The drawn points in the plot, by the number of their row. `states` has the columns that the
    chart draws as efficiency. With figures of whole nodes, these are another state."""
    rate_domain = find_log_domain(select_numbers(list(rows.values()), _RATE))

    def list_efficiencies(number: int) -> Iterator[float]:
        row = rows[number]
        efficiency = float(row[_EFFICIENCY] or 0)
        for key in states:
            # A point without an assumed share does not move.
            yield float(row.get(key) or efficiency)
        if node_rows:
            yield float(node_rows.get(number, row).get(_EFFICIENCY) or efficiency)

    return {
        number: PlotPoint(
            row=number,
            x_share=_find_share(float(row[_RATE] or 0), rate_domain),
            y_px=tuple(
                (1 - _find_share(efficiency, efficiency_domain)) * plot.height_px
                for efficiency in list_efficiencies(number)
            ),
            radius_px=_RING_PX
            if has_rings and row.get("front")
            else _PEAK_PX
            if row.get("peak")
            else POINT_PX,
        )
        for number, row in rows.items()
    }


def _find_share(value: float, domain: tuple[float, float]) -> float:
    """Where a value is on a logarithmic axis, from 0 to 1."""
    low, high = domain
    return math.log(value / low) / math.log(high / low)
