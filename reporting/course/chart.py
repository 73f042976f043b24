"""The figure of one run: parts over one axis of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import PALETTE, RED, TEAL
from reporting.charts.rows.spans import shade_epochs
from reporting.charts.style import GROUPED_DIGITS, INK, make_simulated_word, select_numbers
from reporting.course.table import BOARD, BOARDS, NODE
from reporting.report_table import ReportTable
from rules.bundle_format.records import Json

_MARGIN_PX = 75
"""Of the axis, beside a part."""


@dataclass(frozen=True)
class _Limit:
    """A power that is marked by a line and a word."""

    key: str
    word: str
    colour: str
    dash: tuple[int, ...]
    left_px: int
    """Of the word. Limits are often close, so their words stand side by side."""


@dataclass(frozen=True)
class _Part:
    """A part of the figure."""

    of: tuple[str, ...]
    """What its lines are of."""
    title: str
    limits: tuple[_Limit, ...]
    height_px: int


def build_course_chart(table: ReportTable, width_px: float) -> Chart:
    """Power of the node and its boards, and utilisation, over time. The table has rows."""
    rows = table.rows
    has_node = any(row["of"] == NODE for row in rows)
    has_utilisation = any(row["utilisation_percent"] is not None for row in rows)
    whole = "node and boards" if has_node else "all boards"
    parts = (
        _Part(
            (NODE, BOARDS),
            f"{whole}, W",
            (
                _Limit("node_rated_w", "rated", INK, (1, 0), 6),
                _Limit("node_control_w", "control", TEAL, (8, 2, 2, 2), 60),
            )
            if has_node
            else (),
            170,
        ),
        _Part(
            (BOARD,),
            "each board, W",
            (
                _Limit("cap_w", "cap", RED, (6, 3), 6),
                _Limit("control_w", "control", TEAL, (8, 2, 2, 2), 60),
            ),
            150,
        ),
    )
    present = {row["of"] for row in rows}
    drawn = [_draw_power(table, part) for part in parts if present.intersection(part.of)]
    if has_utilisation:
        drawn.append(_draw_utilisation(table))
    spec_parts = [_make_spec(part, width_px - _MARGIN_PX) for part in drawn]
    if rows[0]["provenance"] == "simulated":
        spec_parts[0]["layer"].insert(0, make_simulated_word())
    shown = f"Power of {whole} and of each board" if len(present) > 1 else "Power of the board"
    shown += ", and utilisation of each board" if has_utilisation else ""
    run = table.title.partition(", ")[2]
    return Chart(
        table.id,
        "Course of the run",
        f"{run}: {shown}, over time. {table.about} Shaded areas are epochs; the discarded first "
        "epoch is red.",
        f"{shown}, over {float(rows[-1]['to_s'] or 0):.0f} s.",
        table,
        {"vconcat": spec_parts, "spacing": 14, "resolve": {"scale": {"color": "independent"}}},
        source=f"run {run}",
        width_px=round(width_px),
    )


def _make_spec(part: Any, width_px: float) -> Json:
    spec: Json = part.to_dict(validate=False)
    spec.pop("$schema", None)
    spec.pop("config", None)
    return {**spec, "width": width_px}


def _draw_power(table: ReportTable, part: _Part) -> Any:
    base, condition = _select(table, part.of)
    rows = [row for row in table.rows if row["of"] in part.of]
    names = list(dict.fromkeys(str(row["line"]) for row in rows))
    limits = [limit for limit in part.limits if rows[0][limit.key] is not None]
    # Power starts at zero, so that shares can be seen. All layers share this scale.
    highest = max(select_numbers(rows, "power_w", *(limit.key for limit in limits)))
    scale = alt.Scale(domain=[0, highest * 1.1], nice=False)
    lines = _draw_lines(
        base.transform_filter(condition),
        alt.Y(
            "power_w:Q",
            title=part.title,
            scale=scale,
            axis=alt.Axis(tickCount=5, labelExpr=GROUPED_DIGITS),
        ),
        names,
        alt.Legend(title=None, orient="top", symbolType="stroke", columns=8),
    )
    marks = []
    # Every row holds the limits. One is enough for one line.
    first = base.transform_filter(f"datum.t_s == 0 && datum.line == '{names[0]}'")
    for limit in limits:
        y = alt.Y(f"{limit.key}:Q", scale=scale)
        marks += [
            first.mark_rule(
                stroke=limit.colour, strokeWidth=1.3, strokeDash=list(limit.dash)
            ).encode(y=y),
            first.mark_text(
                align="left",
                baseline="bottom",
                dy=-2,
                x=limit.left_px,
                fontSize=11,
                text=limit.word,
            ).encode(y=y),
        ]
    return alt.layer(shade_epochs(base), lines, *marks).properties(height=part.height_px)


def _draw_utilisation(table: ReportTable) -> Any:
    base, condition = _select(table, (BOARD,))
    names = list(dict.fromkeys(str(row["line"]) for row in table.rows if row["of"] == BOARD))
    y = alt.Y(
        "utilisation_percent:Q",
        title="utilisation, %",
        scale=alt.Scale(domain=[0, 105], nice=False),
        axis=alt.Axis(tickCount=3),
    )
    lines = _draw_lines(base.transform_filter(condition), y, names, None)
    return alt.layer(shade_epochs(base), lines).properties(height=90)


def _select(table: ReportTable, of: Sequence[str]) -> tuple[Any, str]:
    condition = " || ".join(f"datum.of == '{kind}'" for kind in of)
    return alt.Chart(alt.NamedData(table.id)), condition


def _draw_lines(base: Any, y: Any, names: Sequence[str], legend: Any) -> Any:
    """A line for each name. A step without a reading is a gap."""
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    return base.mark_line(strokeWidth=1.2).encode(
        x=alt.X(
            "t_s:Q",
            title="time, s",
            scale=alt.Scale(nice=False),
            axis=alt.Axis(tickCount=8, labelExpr=GROUPED_DIGITS),
        ),
        y=y,
        color=alt.Color(
            "line:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend
        ),
    )
