"""The style of all charts: scales of lines, axes, points and the shared configuration."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reporting.charts.encoding import (
    FAINT,
    Look,
    find_look,
)
from reporting.report_table import ReportTable, Value
from rules.bundle_format.records import Json
from rules.settings import SHOWN_SETTINGS

INK = "currentColor"
HEIGHT, EFFICIENCY_HEIGHT = 250, 310
"""Heights of plots in pixels."""

Data = Sequence[Mapping[str, Value]]

CROSS = "M-1,-1L1,1M1,-1L-1,1"
# The default locale of D3 groups digits by commas. The page groups them by narrow spaces.
GROUPED_DIGITS = "replace(format(datum.value, ',~r'), /,/g, '\u202f')"
ZERO_AXIS_SHARE = 1.06
"""The end of an axis from zero, as a share of the highest value."""
_MAX_LINEAR_RATIO = 4
"""Up to this ratio of the highest to the lowest value, an axis is linear."""
HOVER_LAYER = "hover"
"""Name of a layer that only reacts to the pointer. A static picture leaves it out."""
ROW_NUMBER = "row_number"
"""Key of the number of a row in its table, from 0, which is added to the rows of a chart. It stays
when a filter leaves out other rows."""
POINT_PX = 4.7
"""Radius of a point."""
_TWO_COLUMNS_PX = 420
NARROW_PX = 320
"""Width below which a chart has smaller letters and no labels at points, as on a phone."""
_MAX_LEGEND_ENTRIES = 18
SETTING_KEYS = ("line", "cap_w", "batch", *(s.key for s, d in SHOWN_SETTINGS if d.is_permanent))
"""Runs that are equal in these columns are repeats of one setting. The name of the line has the
other settings."""

CONFIG: Json = {
    "font": "system-ui, sans-serif",
    # The page is light or dark. Transparent pictures in the text colour fit both.
    "background": "transparent",
    # The page gives each mark its label (chart_marks.js). Labels from Vega would be read out a
    # second time.
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        # The axes have no lines (`domain`). A light grid leads the eye to the ticks.
        "gridOpacity": 0.12,
        "domain": False,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": INK,
        "symbolSize": 80,
        "columnPadding": 28,
        "title": None,
        "orient": "top",
    },
    "rule": {"stroke": INK},
    "text": {"fill": INK},
    "tick": {"color": INK},
}
"""The configuration that all charts share; the page holds it once."""


@dataclass(frozen=True)
class LineStyles:
    """The scales for the lines of one chart, and their common legend."""

    colour: alt.Scale
    shape: alt.Scale
    dash: alt.Scale
    legend: alt.Legend
    fill_legend: alt.Legend
    """The same for the channel `fill`, with symbols as faint as the points."""


def assign_styles(data: Data) -> LineStyles:
    """Give each line the look of its board, setting and provenance (`encoding`).

    Lines with one look share an entry of the legend.
    """
    looks = {str(row["line"]): find_look(row) for row in data}
    lines_by_label: dict[str, str] = {}
    # Measured looks come first.
    for line, look in sorted(looks.items(), key=lambda item: (item[1].provenance, item[1].label)):
        lines_by_label.setdefault(look.label, line)
    return _make_styles(looks, {line: label for label, line in lines_by_label.items()})


def _make_styles(looks: Mapping[str, Look], legend_labels: Mapping[str, str]) -> LineStyles:
    """The scales of lines by their names. `legend_labels` has the lines that stand in the legend,
    with their labels there."""
    lines = list(looks)
    # JSON is a literal of the expressions of Vega.
    labels = json.dumps(dict(legend_labels), ensure_ascii=False)
    legend = alt.Legend(
        values=list(legend_labels),
        labelExpr=f"({labels})[datum.label]",
        # Symbols of dashed lines are too small to show the dashes.
        symbolDash=[1, 0],
        symbolOpacity=1,
        symbolLimit=_MAX_LEGEND_ENTRIES,
        labelFontSize=alt.ExprRef(f"width < {NARROW_PX} ? 11 : 12"),
        # Vega cuts labels at 160 px. On a wide page there is more room.
        labelLimit=alt.ExprRef("max(120, width - 20)"),
        # Vega lays the legend out before it knows how much the axis takes of the width, so both
        # widths must give the same number of columns.
        columns=alt.ExprRef(f"width < {_TWO_COLUMNS_PX} ? 1 : 2"),
    )
    fill_legend = legend.copy()
    faint_lines = [line for line, look in looks.items() if look.provenance != "measured"]
    is_faint = f"indexof({json.dumps(faint_lines, ensure_ascii=False)}, datum.value) >= 0"
    opacity = {"expr": f"{is_faint} ? {FAINT} : 1"}
    # Vega-Lite reads `encoding` of a legend, but its schema does not have it. With it in several of
    # the legends that it merges, it warns of a conflict.
    fill_legend["encoding"] = {"symbols": {"fillOpacity": {"value": opacity}}}
    return LineStyles(
        colour=alt.Scale(domain=lines, range=[look.colour for look in looks.values()]),
        shape=alt.Scale(domain=lines, range=[look.shape for look in looks.values()]),
        dash=alt.Scale(domain=lines, range=[look.dash for look in looks.values()]),
        legend=legend,
        fill_legend=fill_legend,
    )


_LEAST_TICKS = 3
_MANY_DECADES = 3e4
"""From this ratio of the ends of a logarithmic axis on, powers of ten are ticks enough."""


def select_numbers(data: Data, *keys: str) -> list[float]:
    """All numbers among the values at these keys."""
    values = [row.get(key) for row in data for key in keys]
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def find_linear_domain(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a linear axis: a little beyond the values."""
    low, high = min(values), max(values)
    # A single value has no range, so the margin follows from its size.
    margin = 0.06 * (high - low or abs(high) or 1)
    return low - margin, high + margin


def make_linear_axis(
    channel: Any, table: ReportTable, key: str, data: Data, field: str | None = None
) -> Any:
    """A linear axis that ends a little beyond the points. It need not start at zero, because
    points have no length to compare.

    `field` is the field drawn on the axis, by default `key`.
    """
    values = select_numbers(table.widen(data), key, f"{key}_low", f"{key}_high")
    domain = find_linear_domain(values)
    axis = alt.Axis(labelExpr=GROUPED_DIGITS, tickCount=6)
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    return channel(f"{field or key}:Q", title=table.get_column(key).label, axis=axis, scale=scale)


def is_wide(values: Sequence[float]) -> bool:
    """Whether values differ so much that they need a logarithmic axis, and can have one."""
    return 0 < _MAX_LINEAR_RATIO * min(values) < max(values)


def find_log_domain(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis: a little beyond the values. All values are above zero."""
    return min(values) / 1.25, max(values) * 1.25


def make_log_axis(channel: Any, field: str, title: str, values: Sequence[float]) -> Any:
    """A logarithmic axis with round ticks that ends a little beyond the values. All values are
    above zero."""
    low, high = find_log_domain(values)
    ticks = _list_log_ticks(low, high)
    axis = alt.Axis(values=ticks, labelExpr=GROUPED_DIGITS, labelOverlap=True, labelSeparation=4)
    return channel(
        f"{field}:Q",
        title=title,
        axis=axis,
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
    )


def _list_log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends of a logarithmic axis. The script of the page lists the same
    (`listLogTicks`)."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # The values often span less than a decade, where powers of ten alone would give too few ticks.
    steps = (1,) if high / low > _MANY_DECADES else (1, 2, 3, 5, 7)
    ticks = [m * 10.0**d for d in decades for m in steps if low <= m * 10.0**d <= high]
    if len(ticks) >= _LEAST_TICKS:
        return ticks
    unit = 10.0 ** math.floor(math.log10((high - low) / _LEAST_TICKS))
    step = max(m * unit for m in (1, 2, 5) if m * unit * _LEAST_TICKS <= high - low)
    first = math.ceil(low / step)
    return [place * step for place in range(first, math.floor(high / step) + 1)]


def make_zero_axis(channel: Any, field: str, title: str, highest: float, **options: Any) -> Any:
    """A linear axis from zero, for bars and other lengths."""
    axis = alt.Axis(labelExpr=GROUPED_DIGITS, tickCount=6)
    return channel(
        f"{field}:Q",
        title=title,
        axis=axis,
        scale=alt.Scale(domain=[0, highest * ZERO_AXIS_SHARE], nice=False),
        **options,
    )


def draw_lines(base: Any, styles: LineStyles, order: str, legend: bool = True) -> Any:
    """Lines through the points of each line, in the order of the column `order`."""
    legend_spec = styles.legend if legend else None
    return base.mark_line(strokeWidth=1.3).encode(
        order=alt.Order(f"{order}:Q"),
        stroke=alt.Stroke("line:N", scale=styles.colour, legend=legend_spec),
        strokeDash=alt.StrokeDash("line:N", scale=styles.dash, legend=legend_spec),
    )


def draw_points(
    base: Any,
    styles: LineStyles,
    large_if: str = "false",
    legend: bool = True,
    field: str = "line",
) -> Any:
    """Points of lines, whose names are in `field`: hollow if the cap is in doubt, the figure is
    implausible or the result is excluded from rankings, faint if published or simulated, larger if
    the Vega expression `large_if` is true."""
    legend_spec = styles.legend if legend else None
    return base.mark_point(strokeWidth=1.5, opacity=1, tooltip={"content": "data"}).encode(
        stroke=alt.Stroke(f"{field}:N", scale=styles.colour, legend=legend_spec),
        fill=alt.Fill(
            f"{field}:N", scale=styles.colour, legend=styles.fill_legend if legend else None
        ),
        shape=alt.Shape(f"{field}:N", scale=styles.shape, legend=legend_spec),
        fillOpacity=alt.FillOpacityValue(
            1,
            condition=[
                {"test": "datum.doubt || datum.withheld || datum.implausible", "value": 0},
                {
                    "test": "datum.standing == 'published' || datum.provenance == 'simulated'",
                    "value": FAINT,
                },
            ],
        ),
        size=alt.SizeValue(60, condition={"test": large_if, "value": 190}),
    )


def draw_crosses(base: Any) -> Any:
    """A cross over each implausible point."""
    return base.transform_filter("datum.implausible").mark_point(
        shape=CROSS, size=80, stroke=INK, strokeWidth=1.4, filled=False, opacity=0.9
    )


def build_spec(chart: Any, height: int = HEIGHT) -> Json:
    """The Vega-Lite of a chart that is as wide as its container. It always has layers."""
    layered_chart = chart if isinstance(chart, alt.LayerChart) else alt.layer(chart)
    # The method `properties` would copy all layers.
    layered_chart.width, layered_chart.height = "container", height
    layered_chart.autosize = {"type": "fit-x", "contains": "padding"}
    # The tests validate every kind of chart, so a report need not.
    chart_spec: Json = layered_chart.to_dict(validate=False)
    # The page holds schema version and configuration once, not in every spec.
    chart_spec.pop("$schema", None)
    chart_spec.pop("config", None)
    return chart_spec


def mark_simulated(chart_spec: Json) -> Json:
    """The Vega-Lite with the word `simulated` across the plot, behind the marks."""
    return {**chart_spec, "layer": [make_simulated_word(), *chart_spec["layer"]]}


def make_simulated_word() -> Json:
    """The layer of the word `simulated`."""
    return {
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "text": "simulated",
            "fontSize": {"expr": "min(48, width / 8)"},
            "fontWeight": "bold",
            "opacity": 0.45,
            "x": {"expr": "width / 2"},
            "y": {"expr": "height / 2"},
        },
    }
