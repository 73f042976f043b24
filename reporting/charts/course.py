"""The course of one run over time: a chart of each part for the page, and one figure of all parts
for `bench-report trace`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import PALETTE, RED, TEAL
from reporting.charts.rows.spans import shade_epochs
from reporting.charts.style import (
    GROUPED_DIGITS,
    HOVER_LAYER,
    INK,
    build_spec,
    make_simulated_word,
    select_numbers,
)
from reporting.report_table import ReportTable
from reporting.sections.course import BOARD, BOARDS, NODE, PART
from rules.bundle_format.records import Json

_MARGIN_PX = 75
"""Of the axis, beside a part."""
_LEGEND_ENTRY_PX = 105
_EPOCHS_NOTE = "Shaded areas are epochs; the discarded first epoch is red."


@dataclass(frozen=True)
class _Limit:
    """A power that is marked by a line and a word."""

    key: str
    word: str
    colour: str
    dash: tuple[int, ...]
    left_px: int
    """Of the word. Limits are often close, so their words stand side by side."""
    about: str


_NODE_RATED = _Limit("node_rated_w", "rated", INK, (1, 0), 6, "Rated: power rating of the node.")
_NODE_CONTROL = _Limit(
    *("node_control_w", "control", TEAL, (8, 2, 2, 2), 60),
    "Control: median power of the node in a control run at the same cap.",
)
_CAP = _Limit("cap_w", "cap", RED, (6, 3), 6, "Red: cap.")
_CONTROL = _Limit(
    *("control_w", "control", TEAL, (8, 2, 2, 2), 60),
    "Control: median power of a board in a control run at the same cap.",
)


@dataclass(frozen=True)
class _Part:
    """A part of the figure."""

    name: str
    """The end of the id of its chart."""
    of: tuple[str, ...]
    """What its lines are of."""
    title: str
    key: str
    axis: str
    height_px: int
    limits: tuple[_Limit, ...] = ()
    highest: float | None = None
    """The end of the axis; None where it follows from the values."""
    ticks: int = 5


def build_course_charts(table: ReportTable) -> list[Chart]:
    """A chart of each part of the course of a run, as wide as the page."""
    run = table.title.partition(", ")[2]
    # On a narrow page, the legend has more lines.
    legend = _make_legend(alt.ExprRef(f"max(1, floor(width / {_LEGEND_ENTRY_PX}))"))
    charts = []
    for part in _list_parts(table):
        spec = build_spec(_draw_part(table, part, legend), part.height_px)
        marks = "".join(f" {limit.about}" for limit in _select_limits(table, part))
        charts.append(
            Chart(
                f"{table.id}-{part.name}",
                part.title.capitalize(),
                f"{run}: {table.about} {_EPOCHS_NOTE}{marks}",
                f"{part.title.capitalize()}, over {_measure_length_s(table):.0f} s. The table has "
                "the same values.",
                table,
                spec,
                source=f"run {run}",
            )
        )
    return charts


def build_course_figure(table: ReportTable, width_px: float) -> Chart:
    """All parts of the course of a run above each other. The table has rows."""
    parts = _list_parts(table)
    legend = _make_legend(8)
    drawn = [
        # Utilisation has the colours of the boards above it.
        _draw_part(table, part, None if part.name == "utilisation" else legend)
        for part in parts
    ]
    spec_parts = [
        _make_spec(layers.properties(height=part.height_px), width_px - _MARGIN_PX)
        for part, layers in zip(parts, drawn, strict=True)
    ]
    if table.rows[0]["provenance"] == "simulated":
        spec_parts[0]["layer"].insert(0, make_simulated_word())
    shown = ", ".join(part.title for part in parts).capitalize()
    run = table.title.partition(", ")[2]
    return Chart(
        table.id,
        "Course of the run",
        f"{run}: {shown}, over time. {table.about} {_EPOCHS_NOTE}",
        f"{shown}, over {_measure_length_s(table):.0f} s.",
        table,
        {"vconcat": spec_parts, "spacing": 14, "resolve": {"scale": {"color": "independent"}}},
        source=f"run {run}",
        width_px=round(width_px),
    )


def _list_parts(table: ReportTable) -> list[_Part]:
    """The parts that the table has lines for."""
    present = {row["of"] for row in table.rows}
    whole = "node and its boards" if NODE in present else "all boards"
    parts = (
        _Part(
            "whole",
            (NODE, BOARDS, PART),
            f"power of {whole}",
            "power_w",
            "node and boards, W" if NODE in present else "all boards, W",
            170,
            (_NODE_RATED, _NODE_CONTROL) if NODE in present else (),
        ),
        _Part(
            *("boards", (BOARD,), "power of each board", "power_w", "each board, W", 150),
            (_CAP, _CONTROL),
        ),
        _Part(
            *("utilisation", (BOARD,), "utilisation of each board", "utilisation_percent"),
            *("utilisation, %", 90),
            highest=105,
            ticks=3,
        ),
    )
    return [
        part
        for part in parts
        if any(row["of"] in part.of and row[part.key] is not None for row in table.rows)
    ]


def _select_limits(table: ReportTable, part: _Part) -> list[_Limit]:
    return [limit for limit in part.limits if table.rows[0][limit.key] is not None]


def _measure_length_s(table: ReportTable) -> float:
    return float(table.rows[-1]["to_s"] or 0)


def _make_legend(columns: Any) -> Any:
    return alt.Legend(
        title=None, orient="top", symbolType="stroke", columns=columns, labelFontSize=11
    )


def _make_spec(part: Any, width_px: float) -> Json:
    spec: Json = part.to_dict(validate=False)
    spec.pop("$schema", None)
    spec.pop("config", None)
    return {**spec, "width": width_px}


def _draw_part(table: ReportTable, part: _Part, legend: Any) -> Any:
    """The layers of a part: epochs, lines, limits, and points that show the tooltips."""
    base = alt.Chart(alt.NamedData(table.id))
    rows = [row for row in table.rows if row["of"] in part.of]
    names = list(dict.fromkeys(str(row["line"]) for row in rows))
    limits = _select_limits(table, part)
    # Power starts at zero, so that shares can be seen. All layers share this scale.
    highest = part.highest or 1.1 * max(
        select_numbers(rows, part.key, *(limit.key for limit in limits))
    )
    scale = alt.Scale(domain=[0, highest], nice=False)
    y = alt.Y(
        f"{part.key}:Q",
        title=part.axis,
        scale=scale,
        axis=alt.Axis(tickCount=part.ticks, labelExpr=GROUPED_DIGITS),
    )
    condition = " || ".join(f"datum.of == '{kind}'" for kind in part.of)
    of_part = base.transform_filter(condition)
    lines = _draw_lines(of_part, y, names, legend)
    marks = []
    # Every row holds the limits. One is enough for one line.
    first = base.transform_filter(f"datum.t_s == 0 && datum.line == '{names[0]}'")
    for limit in limits:
        y_of_limit = alt.Y(f"{limit.key}:Q", scale=scale)
        marks += [
            first.mark_rule(
                stroke=limit.colour, strokeWidth=1.3, strokeDash=list(limit.dash)
            ).encode(y=y_of_limit),
            first.mark_text(
                align="left",
                baseline="bottom",
                dy=-2,
                x=limit.left_px,
                fontSize=11,
                text=limit.word,
            ).encode(y=y_of_limit),
        ]
    hover = (
        # A line has one tooltip only, so each step has a point.
        of_part.mark_point(filled=True, size=60, opacity=0, tooltip={"content": "data"})
        .encode(x=alt.X("t_s:Q"), y=y)
        .properties(name=HOVER_LAYER)
    )
    return alt.layer(shade_epochs(base), lines, *marks, hover)


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
