"""Labels with the caps of points, in charts whose lines join caps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from reporting.charts.labels.layout import Label, Plot, PlotPoint, place_labels
from reporting.charts.style import EFFICIENCY_HEIGHT, ROW_NUMBER
from reporting.report_table import Value

_MAX_LABELS = 80
"""Charts with more points have no labels; tooltips and the table show the caps."""
_NARROW_END_PX = 420
"""Width from which a plot has the labels of a wide one."""
_WIDE = Plot(_NARROW_END_PX, 900, EFFICIENCY_HEIGHT, font_px=11)
_NARROW = Plot(220, _NARROW_END_PX, EFFICIENCY_HEIGHT, font_px=11)


def select_labelled(rows: Mapping[int, Mapping[str, Value]], every_cap: bool) -> list[int]:
    """The numbers of the rows that get a label, the most important first: peaks, then the highest
    cap of each line, then the others if `every_cap`. One of repeated runs at a cap stands for all.

    `rows` has the drawn rows by their number in the table.
    """
    by_setting: dict[tuple[Value, Value], list[int]] = {}
    for number, row in rows.items():
        if row["cap_w"] is not None:
            by_setting.setdefault((row["line"], row["cap_w"]), []).append(number)
    candidates = [
        max(numbers, key=lambda n: bool(rows[n].get("peak"))) for numbers in by_setting.values()
    ]
    highest_caps = {
        line: max(float(cap or 0) for other, cap in by_setting if other == line)
        for line, _ in by_setting
    }

    def rank(number: int) -> int:
        row = rows[number]
        if row.get("peak"):
            return 0
        return 1 if row["cap_w"] == highest_caps[row["line"]] else 2

    numbers = [n for n in sorted(candidates, key=rank) if every_cap or rank(n) < 2]
    return numbers if len(numbers) <= _MAX_LABELS else []


def name_cap(row: Mapping[str, Value]) -> str:
    """The cap in W, and the number of accelerators if there are several."""
    count = row.get("count")
    return f"{row['cap_w']:g}" + (
        f" \u00d7 {count}" if isinstance(count, int) and count > 1 else ""
    )


def place_caps(
    rows: Mapping[int, Mapping[str, Value]],
    points: Mapping[int, PlotPoint],
    texts: Mapping[int, str],
    plot: Plot,
    rules: Sequence[Sequence[PlotPoint]] = (),
) -> list[Label]:
    """Place labels beside points. `rows` and `points` have all drawn points by the number of their
    row, `texts` the labels in the order of their importance. `rules` are other lines that labels
    keep off."""
    labelled = {n: replace(point, label=texts.get(n, "")) for n, point in points.items()}
    lines: dict[tuple[Value, Value], list[PlotPoint]] = {}
    for number in sorted(points, key=lambda n: float(rows[n]["cap_w"] or 0)):
        # No line goes through a point whose cap is in doubt.
        if not rows[number]["doubt"]:
            line = rows[number]["line"], rows[number].get("batch")
            lines.setdefault(line, []).append(labelled[number])
    order = [*texts, *(number for number in points if number not in texts)]
    return place_labels([labelled[number] for number in order], [*lines.values(), *rules], plot)


def draw_caps(base: Any, place: Callable[[Plot], list[Label]]) -> list[Any]:
    """Write labels beside points. `place` gives them for a plot. Wide and narrow pages have labels
    of their own."""
    return [
        *draw_labels(base, place(_WIDE), _WIDE.font_px, f"width >= {_NARROW_END_PX}"),
        *draw_labels(base, place(_NARROW), _NARROW.font_px, f"width < {_NARROW_END_PX}"),
    ]


def draw_labels(base: Any, labels: Sequence[Label], font_px: float, condition: str) -> list[Any]:
    """Write labels beside the points, and draw their leaders, where the Vega expression `condition`
    is true. The spec refers to rows by their number."""
    opacity = alt.ExprRef(f"{condition} ? 1 : 0")
    places = [
        {ROW_NUMBER: label.row, "label": label.text, "dx": label.dx_px, "dy": label.dy_px}
        for label in labels
    ]
    texts = (
        _look_up(base, places, "label", "dx", "dy")
        .mark_text(
            baseline="middle",
            dx=alt.ExprRef("datum.dx"),
            dy=alt.ExprRef("datum.dy"),
            fontSize=font_px,
            opacity=opacity,
        )
        .encode(text=alt.Text("label:N"))
    )
    leaders = [
        {ROW_NUMBER: label.row, **dict(zip(_LEADER_KEYS, label.leader, strict=True))}
        for label in labels
        if label.leader
    ]
    return [*([_draw_leaders(base, leaders, opacity)] if leaders else []), texts]


_LEADER_KEYS = ("from_x", "from_y", "to_x", "to_y")


def _draw_leaders(base: Any, leaders: Sequence[Mapping[str, float]], opacity: alt.ExprRef) -> Any:
    from_x, from_y, to_x, to_y = (alt.ExprRef(f"datum.{key}") for key in _LEADER_KEYS)
    x, y = (channel.shorthand.partition(":")[0] for channel in (base.encoding.x, base.encoding.y))
    return (
        _look_up(base, leaders, *_LEADER_KEYS)
        .mark_rule(
            strokeWidth=0.8,
            xOffset=from_x,
            yOffset=from_y,
            x2Offset=to_x,
            y2Offset=to_y,
            opacity=opacity,
        )
        .encode(x2=alt.X2(x), y2=alt.Y2(y))
    )


def _look_up(base: Any, places: Sequence[Mapping[str, Any]], *keys: str) -> Any:
    """The rows that have places, with these keys of their places."""
    lookup = alt.LookupData(
        data=alt.InlineData(values=list(places)), key=ROW_NUMBER, fields=list(keys)
    )
    return base.transform_lookup(ROW_NUMBER, from_=lookup).transform_filter(
        f"datum.{keys[0]} != null"
    )
