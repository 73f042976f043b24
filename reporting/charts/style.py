"""The style of all charts: colours, shapes and axes, and their assignment to lines."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import altair as alt

from reporting.report_table import ReportTable, Value
from rules.bundle_format.records import Json

INK = "currentColor"
WIDTH, HEIGHT, EFFICIENCY_HEIGHT = 640, 250, 310
"""Size of a static picture in pixels. In the page, the width follows the container."""

Data = Sequence[Mapping[str, Value]]

# The palette of Okabe and Ito, whose colours differ for readers with common colour deficiencies.
_BOARDS = {"H100": "#0072B2", "H200": "#009E73", "MI300X": "#CC79A7", "A100": "#E69F00"}
_COLOURS = ("#D55E00", "#E69F00", "#56B4E9", INK, "#0072B2", "#009E73", "#CC79A7")
_SHAPES = ("circle", "square", "diamond", "cross")
_PUBLISHED_SHAPES = {
    "H100": "triangle-up",
    "H200": "triangle-down",
    "MI300X": "triangle-right",
    "A100": "triangle-left",
}
_PUBLISHED_DASH = (5, 3)
_DASHES = ((1, 0), (8, 2), (2, 2), (8, 2, 2, 2))
_OTHER_COLOUR = "#888888"
CROSS = "M-1,-1L1,1M1,-1L-1,1"
# The default locale of D3 groups digits by commas. The page groups them by narrow spaces.
_GROUPED_DIGITS = "replace(format(datum.value, ',~r'), /,/g, '\u202f')"
HOVER_LAYER = "hover"
"""Name of a layer that only reacts to the pointer. A static picture leaves it out."""
_LETTER_PX = 8
NARROW_PX = 320
"""Width below which a chart has smaller letters and no labels at points, as on a phone."""
_MAX_LEGEND_ENTRIES = 18

CONFIG: Json = {
    "font": "system-ui, sans-serif",
    # The page is light or dark. Transparent pictures in the text colour fit both.
    "background": "transparent",
    # The page gives each mark its label (charts.js). Labels from Vega would be read out a second
    # time.
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


def assign_styles(data: Data) -> LineStyles:
    """Assign a colour, a shape and a dash pattern to each line, submitted lines first.

    A line has the colour of its board. If two submitted lines have the same board, submitted
    lines get colours that no published line has. Published lines are dashed with triangles.
    """
    boards_by_line = {str(row["line"]): str(row["model"]) for row in data}
    published_lines = {str(row["line"]) for row in data if row["standing"] == "published"}
    submitted_lines = [line for line in boards_by_line if line not in published_lines]
    lines = [*submitted_lines, *(line for line in boards_by_line if line in published_lines)]
    # Two lines of one board need different colours, for example tuned and baseline.
    boards_repeat = len({boards_by_line[line] for line in submitted_lines}) < len(submitted_lines)
    published_colours = {_BOARDS.get(boards_by_line[line]) for line in published_lines}
    # Submitted lines must not be taken for published ones.
    free_colours = [colour for colour in _COLOURS if colour not in published_colours]
    colours = [
        free_colours[submitted_lines.index(n) % len(free_colours)]
        if boards_repeat and n in submitted_lines
        else _BOARDS.get(boards_by_line[n], _OTHER_COLOUR)
        for n in lines
    ]
    shapes = [
        _SHAPES[submitted_lines.index(n) % len(_SHAPES)]
        if n in submitted_lines
        else _PUBLISHED_SHAPES.get(boards_by_line[n], "stroke")
        for n in lines
    ]
    dashes = [
        # More lines than colours differ by their dash pattern.
        _DASHES[submitted_lines.index(n) // len(free_colours) % len(_DASHES)]
        if n in submitted_lines
        else _PUBLISHED_DASH
        for n in lines
    ]
    return _make_styles(lines, colours, shapes, dashes)


def assign_line_styles(shapes: Mapping[str, str], published_lines: Set[str]) -> LineStyles:
    """A colour for each line, whatever its board. `shapes` has the shape of the points of each
    line. Published lines are dashed."""
    lines = list(shapes)
    colours = [_COLOURS[n % len(_COLOURS)] for n in range(len(lines))]
    dashes = [_PUBLISHED_DASH if line in published_lines else _DASHES[0] for line in lines]
    return _make_styles(lines, colours, list(shapes.values()), dashes)


def _make_styles(
    lines: Sequence[str],
    colours: Sequence[str],
    shapes: Sequence[str],
    dashes: Sequence[Sequence[int]],
) -> LineStyles:
    return LineStyles(
        colour=alt.Scale(domain=list(lines), range=list(colours)),
        shape=alt.Scale(domain=list(lines), range=list(shapes)),
        dash=alt.Scale(domain=list(lines), range=list(dashes)),
        legend=alt.Legend(
            # Symbols of dashed lines are too small to show the dashes.
            symbolDash=[1, 0],
            symbolOpacity=1,
            symbolLimit=_MAX_LEGEND_ENTRIES,
            labelFontSize=alt.ExprRef(f"width < {NARROW_PX} ? 10 : 12"),
            # Vega cuts labels at 160 px. On a wide page there is more room.
            labelLimit=alt.ExprRef("max(120, width - 20)"),
            # Long names of lines take the full width, so the legend then has one column.
            columns=alt.ExprRef(f"width < {2 * _LETTER_PX * max(map(len, lines))} ? 1 : 2"),
        ),
    )


def select_numbers(data: Data, *keys: str) -> list[float]:
    """All numbers among the values at these keys."""
    values = [row.get(key) for row in data for key in keys]
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def make_linear_axis(
    channel: Any, table: ReportTable, key: str, data: Data, field: str | None = None
) -> Any:
    """A linear axis that ends a little beyond the points. It need not start at zero, because
    points have no length to compare.

    `field` is the field drawn on the axis, by default `key`.
    """
    values = select_numbers(data, key, f"{key}_low", f"{key}_high")
    low, high = min(values), max(values)
    # A single value has no range, so the margin follows from its size.
    margin = 0.06 * (high - low or abs(high) or 1)
    axis = alt.Axis(labelExpr=_GROUPED_DIGITS, tickCount=6)
    scale = alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)
    return channel(f"{field or key}:Q", title=table.get_column(key).label, axis=axis, scale=scale)


def make_log_axis(channel: Any, field: str, title: str, values: Sequence[float]) -> Any:
    """A logarithmic axis with round ticks that ends a little beyond the values. All values are
    above zero."""
    low, high = min(values) / 1.25, max(values) * 1.25
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**d for d in decades for m in (1, 2, 3, 5, 7) if low <= m * 10.0**d <= high]
    # The values often span less than a decade, where powers of ten alone would give too few ticks.
    axis = alt.Axis(values=ticks, labelExpr=_GROUPED_DIGITS, labelOverlap=True)
    return channel(
        f"{field}:Q",
        title=title,
        axis=axis,
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
    )


def make_zero_axis(channel: Any, field: str, title: str, highest: float, **options: Any) -> Any:
    """A linear axis from zero, for bars and other lengths."""
    axis = alt.Axis(labelExpr=_GROUPED_DIGITS, tickCount=6)
    return channel(
        f"{field}:Q",
        title=title,
        axis=axis,
        scale=alt.Scale(domain=[0, highest * 1.06], nice=False),
        **options,
    )


def draw_points(
    base: Any,
    styles: LineStyles,
    large_if: str = "false",
    legend: bool = True,
    field: str = "line",
) -> Any:
    """Points of lines, whose names are in `field`: hollow if the cap is in doubt or the result wins
    nothing, larger if the Vega expression `large_if` is true."""
    legend_spec = styles.legend if legend else None
    return base.mark_point(strokeWidth=1.5, opacity=1, tooltip={"content": "data"}).encode(
        stroke=alt.Stroke(f"{field}:N", scale=styles.colour, legend=legend_spec),
        fill=alt.Fill(f"{field}:N", scale=styles.colour, legend=legend_spec),
        shape=alt.Shape(f"{field}:N", scale=styles.shape, legend=legend_spec),
        fillOpacity=alt.condition("datum.doubt || datum.withheld", alt.value(0), alt.value(1)),
        size=alt.condition(large_if, alt.value(190), alt.value(60)),
    )


def draw_crosses(base: Any) -> Any:
    """A cross over each implausible point."""
    return base.transform_filter("datum.implausible").mark_point(
        shape=CROSS, size=150, stroke=INK, strokeWidth=1.4, filled=False, opacity=0.9
    )


def build_spec(chart: Any, height: int = HEIGHT) -> Json:
    """The Vega-Lite of a chart that is as wide as its container."""
    sized_chart = chart.properties(
        width="container", height=height, autosize={"type": "fit-x", "contains": "padding"}
    )
    # The tests validate every kind of chart, so a report need not.
    chart_spec: Json = sized_chart.to_dict(validate=False)
    # The page holds schema version and configuration once, not in every spec.
    chart_spec.pop("$schema", None)
    chart_spec.pop("config", None)
    return chart_spec
