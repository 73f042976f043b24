"""The charts of a workload, declared with Altair and rendered to SVG without a browser: efficiency against performance, and
efficiency against the cap.

Every point is a row of the table beside it. Lines join the caps of one system and nothing is fitted or smoothed.
"""

import math
from collections.abc import Sequence
from typing import Any

from reporting.rows import Row, line_name, several
from reporting.sweeps import Sweep

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
_OURS_UP_PX = 4
"""How much higher a cap's label stands above our larger marks."""
_ROOMY_PX = 600
_CROSS = "M-1,-1L1,1M1,-1L-1,1"
_GROUPED = "replace(format(datum.value, ',~r'), /,/g, '\u202f')"


class ChartError(Exception):
    """Charts cannot be drawn; the message says what to install."""


def efficiency_svg(rows: Sequence[Row], item: str, width: int, height: int) -> str:
    """An SVG of items/J against items/s per accelerator, both axes logarithmic; `rows` need both figures.

    Published points have power = cap. Raises ChartError where the extra `report` is not installed.
    """
    alt = _altair()
    return _svg(alt, alt.layer(*_layers(alt, _points(rows, width, height), item)), width, height)


def sweep_svg(sweeps: Sequence[Sweep], item: str, width: int, height: int) -> str:
    """An SVG of items/J against the cap, a line per sweep; both axes are linear. Raises ChartError as `efficiency_svg` does."""
    alt = _altair()
    points = [
        {"x": at.point.cap_w, "y": at.point.items_per_joule, "line": sweep.name, "held": at.doubt is None, "best": at.best}
        for sweep in sweeps
        for at in sweep.caps
    ]
    lines = [sweep.name for sweep in sweeps]
    colours, shapes, dashes = (alt.Scale(domain=lines, range=looks) for looks in zip(*_looks(sweeps), strict=True))
    legend = alt.Legend(
        title=None, orient="top", symbolDash=[1, 0], columns=1 if width <= _ROOMY_PX else 2, columnPadding=90, labelLimit=0
    )
    base = alt.Chart(alt.Data(values=points)).encode(
        x=_linear(alt, alt.X, "x", "cap, W per accelerator", points),
        y=_linear(alt, alt.Y, "y", f"{item}s/J", points),
        stroke=alt.Stroke("line:N", scale=colours, legend=legend),
    )
    line = base.transform_filter("datum.held").mark_line(strokeWidth=1.5, opacity=0.8)
    point = base.mark_point(strokeWidth=1.6, opacity=1).encode(
        shape=alt.Shape("line:N", scale=shapes, legend=legend),
        fill=alt.condition("datum.held", alt.Fill("line:N", scale=colours, legend=legend), alt.value("transparent")),
        size=alt.condition("datum.best", alt.value(260), alt.value(55)),
    )
    dashed = line.encode(order="x:Q", strokeDash=alt.StrokeDash("line:N", scale=dashes, legend=None))
    return _svg(alt, alt.layer(dashed, point), width, height)


def _looks(sweeps: Sequence[Sweep]) -> list[tuple[str, str, list[int]]]:
    """Colour, shape and dash of each line: those of its board where no two lines have one board, else one after the other."""
    models = [sweep.model for sweep in sweeps]
    if len(set(models)) == len(models) and set(models) <= _COLOURS.keys():
        names = models
    else:
        names = [list(_COLOURS)[n % len(_COLOURS)] for n in range(len(sweeps))]
    return [(_COLOURS[name], _SHAPES[name], _DASHES.get(name, [1, 0])) for name in names]


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401  what draws must be there too
    except ImportError as error:
        raise ChartError(f"charts need {error.name}: pip install 'wattmark[report]'") from None
    return altair


def _svg(alt: Any, chart: Any, width: int, height: int) -> str:
    import vl_convert

    chart = chart.properties(width=width, height=height, background="transparent", autosize={"type": "fit"})
    chart = chart.configure(font="system-ui, sans-serif").configure_view(stroke=None)
    chart = chart.configure_axis(
        labelColor=INK, titleColor=INK, domainColor=INK, tickColor=INK, gridColor=INK, gridOpacity=0.12, labelFontSize=12
    ).configure_legend(labelColor=INK, labelFontSize=12, symbolSize=90)
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    return str(svg).replace(INK, "currentColor")


def _points(rows: Sequence[Row], width: int, height: int) -> list[dict[str, Any]]:
    """The rows as records for Vega-Lite; the fastest point of each of our lines is `named`: it carries the line's name."""
    points: list[dict[str, Any]] = []
    for row in rows:
        if row.items_per_joule is None:
            continue
        ours = row.standing != "published"
        points.append(
            {
                "x": row.items_per_s_per_accelerator.value,
                "y": row.items_per_joule.value,
                "line": line_name(row) if ours else f"{row.system} · {row.model}",
                "name": f"{row.model}{several(row)} {row.variant}",
                "series": SUBMITTED if ours else row.model,
                "ours": ours,
                "named": False,
                "held": row.cap_enforced is not False,
                "implausible": row.implausible is not None,
                "cap": row.cap_w,
                "label": "" if row.cap_w is None else f"{row.cap_w:g} W",
            }
        )
    for line in {p["line"] for p in points if p["ours"]}:
        best = max((p for p in points if p["line"] == line), key=lambda p: float(p["x"]))
        # A phone has room for little more than a word.
        best["named"] = True
        best["label"] = f"{line} · {best['label']}".removesuffix(" · ") if width > _ROOMY_PX else best["name"]
    _place_labels(points, width, height)
    return points


def _place_labels(points: list[dict[str, Any]], width: int, height: int) -> None:
    """Put each line's name on the side where it fits and hits fewer points; drop a cap's label on top of another label."""
    (left, right), (bottom, top) = _range(points, "x"), _range(points, "y")
    x_px = [math.log(p["x"] / left) / math.log(right / left) * width for p in points]
    y_px = [math.log(p["y"] / bottom) / math.log(top / bottom) * height for p in points]
    at_px = list(zip(points, x_px, y_px, strict=True))
    taken: list[tuple[float, float, float]] = []
    for point, x, y in at_px:
        if point["named"]:
            reach = _LETTER_PX * len(point["label"]) + 13
            near = [at for at, up in zip(x_px, y_px, strict=True) if abs(up - y) < _LETTER_PX and at != x]
            hits_right = sum(x < at < x + reach for at in near)
            hits_left = sum(x - reach < at < x for at in near)
            point["rightwards"] = x + reach < width and (hits_right <= hits_left or x < reach)
            taken.append((x, x + reach, y) if point["rightwards"] else (x - reach, x, y))
    wide, high = _CAP_LABEL_PX
    for point, x, y in at_px:
        above = y + (_OURS_UP_PX if point["ours"] else 0)
        if point["named"]:
            continue
        if any(begin - wide < x < end + wide and abs(above - up) < high for begin, end, up in taken):
            point["label"] = ""
        else:
            taken.append((x, x, above))


def _layers(alt: Any, points: list[dict[str, Any]], item: str) -> list[Any]:
    data = alt.Data(values=points)
    series = [s for s in (SUBMITTED, *_COLOURS, *(p["series"] for p in points)) if any(p["series"] == s for p in points)]
    series = list(dict.fromkeys(series))
    colours = alt.Scale(domain=series, range=[_COLOURS.get(s, _OTHER[0]) for s in series])
    shapes = alt.Scale(domain=series, range=[_SHAPES.get(s, _OTHER[1]) for s in series])
    dashes = alt.Scale(domain=series, range=[_DASHES.get(s, _OTHER[2]) for s in series])
    legend = alt.Legend(title=None, orient="top", symbolType="circle", symbolDash=[1, 0])
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
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None),
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
    layers = []
    for whose, up in (("!datum.ours", 9), ("datum.ours && !datum.named", 9 + _OURS_UP_PX)):
        caps = base.transform_filter(whose).mark_text(dy=-up, fontSize=9.5, fill=INK, opacity=0.85)
        layers.append(caps.encode(text="label:N"))
    for side, align, dx in (("datum.rightwards", "left", 13), ("!datum.rightwards", "right", -13)):
        own = base.transform_filter(f"datum.named && {side}")
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


def _linear(alt: Any, channel: Any, name: str, title: str, points: list[dict[str, Any]]) -> Any:
    """A linear axis that ends a little beyond the points; it need not begin at zero, since lines and not lengths are compared."""
    values = [float(p[name]) for p in points]
    room = 0.06 * (max(values) - min(values) or max(values))
    axis = alt.Axis(
        labelExpr=_GROUPED,
        titleFontSize=13,
        titleFontWeight="normal",
        domain=False,
        minExtent=40 if name == "y" else 0,
        tickCount=6,
    )
    domain = [min(values) - room, max(values) + room]
    return channel(f"{name}:Q", title=title, axis=axis, scale=alt.Scale(domain=domain, nice=False, zero=False))
