"""The efficiency-against-performance chart of a workload, declared with Altair and rendered to SVG without a browser.

Every point is a row of the table beside it. Lines join the caps of one system and nothing is fitted or smoothed.
"""

import math
from collections.abc import Sequence
from typing import Any

from reporting.rows import Row

INK = "#010203"
"""Stands for the colour of the page's text: the page replaces it, so that one chart serves light and dark."""

SUBMITTED = "submitted"

# Okabe and Ito's palette, which readers with any of the common colour deficiencies can tell apart.
_COLOURS = {SUBMITTED: "#D55E00", "H100": "#0072B2", "H200": "#009E73", "MI300X": "#CC79A7", "A100": "#E69F00"}
_SHAPES = {SUBMITTED: "diamond", "H100": "circle", "H200": "square", "MI300X": "triangle-up", "A100": "triangle-down"}
_DASHES = {"H200": [6, 3], "MI300X": [2, 2]}
_OTHER = ("#888888", "circle", [1, 0])
_LETTER_PX = 7.5
"""About the width of a letter of a label, for deciding on which side of a point it has room."""
_CAP_LABEL_PX = (32, 11)
"""Width and height of a cap's label."""
_ROOMY_PX = 600
_CROSS = "M-1,-1L1,1M1,-1L-1,1"
_GROUPED = "replace(format(datum.value, ',~r'), /,/g, '\u202f')"


class ChartError(Exception):
    """Charts cannot be drawn; the message says what to install."""


def efficiency_svg(rows: Sequence[Row], item: str, width: int, height: int) -> str:
    """An SVG of items/J against items/s per accelerator, both axes logarithmic; `rows` need both figures.

    Published points have power = cap. Raises ChartError where the extra `report` is not installed.
    """
    try:
        import altair as alt
        import vl_convert
    except ImportError as error:
        raise ChartError(f"charts need {error.name}: pip install 'wattmark[report]'") from None
    chart = alt.layer(*_layers(alt, _points(rows, width, height), item))
    chart = chart.properties(width=width, height=height, background="transparent", autosize={"type": "fit"})
    chart = chart.configure(font="system-ui, sans-serif").configure_view(stroke=None)
    chart = chart.configure_axis(
        labelColor=INK, titleColor=INK, domainColor=INK, tickColor=INK, gridColor=INK, gridOpacity=0.12, labelFontSize=12
    ).configure_legend(labelColor=INK, labelFontSize=12, symbolSize=90)
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    return str(svg).replace(INK, "currentColor")


def _points(rows: Sequence[Row], width: int, height: int) -> list[dict[str, Any]]:
    """The rows as records for Vega-Lite; the fastest point of each of our lines carries the line's name."""
    points: list[dict[str, Any]] = []
    for row in rows:
        if row.items_per_joule is None:
            continue
        ours = row.standing != "published"
        points.append(
            {
                "x": row.items_per_s_per_accelerator.value,
                "y": row.items_per_joule.value,
                "line": _line(row) if ours else f"{row.system} · {row.model}",
                "name": f"{row.model}{_several(row)} {row.variant}",
                "series": SUBMITTED if ours else row.model,
                "ours": ours,
                "held": row.cap_enforced is not False,
                "implausible": row.implausible is not None,
                "cap": row.cap_w,
                "label": "" if row.cap_w is None else f"{row.cap_w:g} W",
            }
        )
    for line in {p["line"] for p in points if p["ours"]}:
        best = max((p for p in points if p["line"] == line), key=lambda p: float(p["x"]))
        # A phone has room for little more than a word.
        best["label"] = f"{line} · {best['label']}".removesuffix(" · ") if width > _ROOMY_PX else best["name"]
    _place_labels(points, width, height)
    return points


def _several(row: Row) -> str:
    return f" \u00d7 {row.count}" if row.count and row.count > 1 else ""


def _line(row: Row) -> str:
    """What the caps of a submitted row have in common, and their label."""
    precision = "" if row.precision == row.variant else f" {row.precision}"
    return f"{row.system}{_several(row)} · {row.variant}{precision}"


def _place_labels(points: list[dict[str, Any]], width: int, height: int) -> None:
    """Put each of our labels on the side where it fits and hits fewer points; drop a cap's label on top of another's."""
    (left, right), (bottom, top) = _range(points, "x"), _range(points, "y")
    x_px = [math.log(p["x"] / left) / math.log(right / left) * width for p in points]
    y_px = [math.log(p["y"] / bottom) / math.log(top / bottom) * height for p in points]
    labelled: list[tuple[float, float]] = []
    for point, x, y in zip(points, x_px, y_px, strict=True):
        if not point["ours"]:
            if any(abs(x - at) < _CAP_LABEL_PX[0] and abs(y - up) < _CAP_LABEL_PX[1] for at, up in labelled):
                point["label"] = ""
            else:
                labelled.append((x, y))
            continue
        reach = _LETTER_PX * len(point["label"]) + 13
        near = [at for at, up in zip(x_px, y_px, strict=True) if abs(up - y) < _LETTER_PX and at != x]
        hits_right = sum(x < at < x + reach for at in near)
        hits_left = sum(x - reach < at < x for at in near)
        point["rightwards"] = x + reach < width and (hits_right <= hits_left or x < reach)


def _layers(alt: Any, points: list[dict[str, Any]], item: str) -> list[Any]:
    data = alt.Data(values=points)
    series = [s for s in (SUBMITTED, *_COLOURS, *(p["series"] for p in points)) if any(p["series"] == s for p in points)]
    series = list(dict.fromkeys(series))
    colours = alt.Scale(domain=series, range=[_COLOURS.get(s, _OTHER[0]) for s in series])
    shapes = alt.Scale(domain=series, range=[_SHAPES.get(s, _OTHER[1]) for s in series])
    dashes = alt.Scale(domain=series, range=[_DASHES.get(s, _OTHER[2]) for s in series])
    legend = alt.Legend(title=None, orient="top", symbolType="circle")
    x = _axis(alt, alt.X, "x", f"{item}s/s per accelerator", points)
    y = _axis(alt, alt.Y, "y", f"{item}s/J", points)
    base = alt.Chart(data).encode(x=x, y=y)
    line = (
        base.transform_filter("datum.held")
        .mark_line(strokeWidth=1.3, opacity=0.75)
        .encode(
            detail="line:N",
            order="cap:Q",
            stroke=alt.Stroke("series:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend),
        )
    )
    point = base.mark_point(strokeWidth=1.6, opacity=1).encode(
        shape=alt.Shape("series:N", scale=shapes, legend=legend),
        stroke=alt.Stroke("series:N", scale=colours, legend=legend),
        fill=alt.condition("datum.held", alt.Fill("series:N", scale=colours, legend=legend), alt.value("transparent")),
        size=alt.condition("datum.ours", alt.value(190), alt.value(48)),
    )
    cross = base.transform_filter("datum.implausible").mark_point(
        shape=_CROSS, size=150, stroke=INK, strokeWidth=1.4, filled=False, opacity=0.9
    )
    return [*_labels(base), line, point, cross]


def _labels(base: Any) -> list[Any]:
    caps = base.transform_filter("!datum.ours").mark_text(dy=-9, fontSize=9.5, fill=INK, opacity=0.85)
    layers = [caps.encode(text="label:N")]
    for side, align, dx in (("datum.rightwards", "left", 13), ("!datum.rightwards", "right", -13)):
        own = base.transform_filter(f"datum.ours && {side}")
        layers.append(own.mark_text(align=align, dx=dx, fontSize=12, fontWeight=600, fill=INK).encode(text="label:N"))
    return layers


def _range(points: list[dict[str, Any]], name: str) -> tuple[float, float]:
    values = [float(p[name]) for p in points]
    return min(values) / 1.25, max(values) * 1.25


def _axis(alt: Any, channel: Any, name: str, title: str, points: list[dict[str, Any]]) -> Any:
    low, high = _range(points, name)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**d for d in decades for m in (1, 2, 3, 5, 7) if low <= m * 10.0**d <= high]
    axis = alt.Axis(
        values=ticks,
        labelExpr=_GROUPED,
        titleFontSize=13,
        titleFontWeight="normal",
        domain=False,
        minExtent=40 if name == "y" else 0,
    )
    return channel(f"{name}:Q", title=title, axis=axis, scale=alt.Scale(type="log", domain=[low, high], nice=False))
