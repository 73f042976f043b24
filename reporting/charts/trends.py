"""The charts of boards and models over time, as Desislavov et al. 2023 draw them."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from reporting.charts.chart import Chart
from reporting.charts.encoding import BLUE, BROWN, GREEN, OLIVE, PURPLE, RED, TEAL, VIOLET
from reporting.charts.rows.layout import Y_OF_ROWS, build_row_spec, write_names
from reporting.charts.studies import NARROW_WIDTH_PX
from reporting.charts.style import (
    EFFICIENCY_HEIGHT,
    INK,
    build_spec,
    make_linear_axis,
    make_log_axis,
    make_zero_axis,
    select_numbers,
)
from reporting.report_table import ReportTable, TableRow
from rules.studies.trends.estimators import HUMAN_EXTERNAL_POWER_W, HUMAN_POWER_W
from rules.studies.trends.later import LAST_YEAR

_LATER = f"after {LAST_YEAR}"
_COLOURS = (INK, BLUE, RED, GREEN, PURPLE, BROWN, TEAL, VIOLET, OLIVE)
_SHAPES = ("circle", "diamond", "triangle-up", "square", "triangle-down", "cross")
_BEST = ("best of its year", "record")
_ROW_PX = 32

# ids, columns across and upright, and titles
_MODEL_CHARTS = (
    ("flops", "date", "gflops", "FLOPs of {} models over time"),
    ("joules", "date", "joules", "Estimated energy of {} models over time"),
    ("axes-score-year", "date", "score", "{} of {} models over time"),
    ("axes-score-gflops", "gflops", "score", "{} against FLOPs of {} models"),
    ("axes-score-joules", "joules", "score", "{} against estimated energy of {} models"),
    ("axes-params-year", "date", "params", "Parameters of {} models over time"),
    ("axes-gflops-params", "params", "gflops", "FLOPs against parameters of {} models"),
)


def build_board_charts(table: ReportTable) -> list[Chart]:
    """The efficiencies that the fits use, and the peaks by precision."""
    return [
        *_build_scatter(
            table,
            "trends-efficiency",
            ("date", "gflops_per_w"),
            "Efficiency of boards, with the fits for vision and language models",
            [row for row in table.data if row["table"] == "J.9"],
            "datum.table === 'J.9'",
            fits=[
                f"datum.table === 'J.9' && !test(/after|{other}/, datum.kind)"
                for other in ("NLP", "CNN")
            ],
            about="Lines: log-linear fits, the upper one for language models.",
        ),
        *_build_scatter(
            table,
            "trends-peaks",
            ("date", "gflops_per_w"),
            "Peak efficiency of boards by precision",
            [row for row in table.data if row["table"] == "J.8"],
            "datum.table === 'J.8'",
        ),
    ]


def build_model_charts(table: ReportTable) -> list[Chart]:
    """FLOPs, energy, accuracy and parameters of vision or of language models."""
    domain = table.id.rpartition("-")[2]
    end = "" if domain == "vision" else f"-{domain}"
    score = "Accuracy" if domain == "vision" else "GLUE score"
    charts = []
    for name, x, y, title in _MODEL_CHARTS:
        data = [row for row in table.data if row[x] is not None and row[y] is not None]
        words = (score, domain) if y == "score" else (domain,)
        is_energy_over_time = (x, y) == ("date", "joules")
        fits = (
            [
                f"datum.kind !== {_LATER!r}",
                f"datum.kind === {_BEST[0]!r} || datum.kind === {_BEST[1]!r}",
            ]
            if x == "date" and y in ("gflops", "joules")
            else []
        )
        charts.extend(
            _build_scatter(
                table,
                f"trends-{name}{end}",
                (x, y),
                title.format(*words),
                data,
                f"datum.{x} !== null && datum.{y} !== null",
                fits=fits,
                levels={
                    "a person's food": HUMAN_POWER_W,
                    "a person's other energy": HUMAN_EXTERNAL_POWER_W,
                }
                if is_energy_over_time
                else {},
                about=" ".join(
                    sentence
                    for sentence, is_true in (
                        (
                            "Lines: log-linear fits to all models of the publication, and to the "
                            "best.",
                            fits,
                        ),
                        ("Dotted: what a person takes in a second.", is_energy_over_time),
                    )
                    if is_true
                ),
            )
        )
    return charts


def _build_scatter(
    table: ReportTable,
    id: str,
    keys: tuple[str, str],
    title: str,
    data: Sequence[TableRow],
    condition: str,
    fits: Sequence[str] = (),
    levels: Mapping[str, float] | None = None,
    about: str = "",
) -> list[Chart]:
    """Points of two columns, with a log-linear fit over time to the rows of each condition of
    `fits` and horizontal lines at `levels`, in the unit of the column upright, by their names; no
    chart without data."""
    if not data:
        return []
    levels = levels or {}
    x_key, y_key = keys
    # A kind looks alike in all charts of the table.
    looks = list(dict.fromkeys(str(row["kind"]) for row in table.rows))
    kinds = [kind for kind in looks if any(row["kind"] == kind for row in data)]
    colour = alt.Scale(
        domain=kinds, range=[_COLOURS[looks.index(kind) % len(_COLOURS)] for kind in kinds]
    )
    shape = alt.Scale(
        domain=kinds, range=[_SHAPES[looks.index(kind) % len(_SHAPES)] for kind in kinds]
    )
    x, y = _make_axis(alt.X, table, x_key, data), _make_axis(alt.Y, table, y_key, data, levels)
    base = alt.Chart(alt.NamedData(table.id)).transform_filter(condition)
    points = base.mark_point(size=32, strokeWidth=1.2, filled=False, opacity=1).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("kind:N", scale=colour, legend=alt.Legend(columns=3, labelFontSize=12)),
        shape=alt.Shape("kind:N", scale=shape, legend=alt.Legend(columns=3, labelFontSize=12)),
    )
    layers = [points]
    for fit in fits:
        layers.append(_draw_fit(table, (x, y), keys, f"({condition}) && ({fit})"))
    for name, value in levels.items():
        layers += _draw_level(y, name, value)
    return [
        Chart(
            id=id,
            title=title,
            about=about,
            alt=f"{title}, {len(data)} points",
            table=table,
            spec=build_spec(alt.layer(*layers), EFFICIENCY_HEIGHT),
        )
    ]


def _make_axis(
    channel: Any,
    table: ReportTable,
    key: str,
    data: Sequence[TableRow],
    levels: Mapping[str, float] | None = None,
) -> Any:
    if key == "date":
        years = [int(str(row["date"])[:4]) for row in data]
        step = 1 if max(years) - min(years) < 6 else 2
        ends = [f"{min(years)}-01-01", f"{max(years) + 1}-01-01"]
        return channel(
            "date:T",
            title="year",
            axis=alt.Axis(format="%Y", tickCount={"interval": "year", "step": step}),
            scale=alt.Scale(domain=[{"year": int(end[:4])} for end in ends], nice=False),
        )
    if key == "score":
        return make_linear_axis(channel, table, key, data)
    values = [*select_numbers(data, key), *(levels or {}).values()]
    return make_log_axis(channel, key, table.get_column(key).label, values)


def _draw_fit(
    table: ReportTable, axes: tuple[Any, Any], keys: tuple[str, str], condition: str
) -> Any:
    """The least-squares line of the logarithm over time, as in `rules.studies.trends`."""
    x, y = (axis.copy() for axis in axes)
    x.shorthand, y.shorthand = "when:T", "fitted:Q"
    return (
        alt.Chart(alt.NamedData(table.id))
        .transform_filter(condition)
        .transform_calculate(when="time(toDate(datum.date))", log=f"log(datum.{keys[1]})")
        .transform_regression("when", "log")
        .transform_calculate(fitted="exp(datum.log)")
        .mark_line(stroke=INK, strokeDash=[5, 3], strokeWidth=1.2)
        .encode(x=x, y=y)
    )


def _draw_level(y: Any, name: str, value: float) -> list[Any]:
    level = y.copy()
    level.shorthand = "level:Q"
    base = alt.Chart(alt.InlineData(values=[{"level": value, "name": name}])).encode(y=level)
    return [
        base.mark_rule(stroke=INK, strokeDash=[2, 2]),
        base.mark_text(align="left", x=6, dy=-6, fontSize=11).encode(text=alt.Text("name:N")),
    ]


def build_speedup_chart(table: ReportTable) -> list[Chart]:
    """The speed-ups of each task, board and precision, with their mean."""
    key = "speedup"
    data = [row for row in table.data if row["precision"] != "FP32"]
    if not data:
        return []
    groups = {(row["task"], str(row["board"]).partition(" ")[0], row["precision"]) for row in data}
    base = _place_rows(
        alt.Chart(alt.NamedData(table.id)).transform_filter("datum.precision !== 'FP32'"),
        "datum.task + ' · ' + replace(datum.board, / .*/, '') + ' · ' + datum.precision",
        alt.SortField("row_name"),
    )
    axis = make_zero_axis(
        alt.X, key, "speed-up over FP32", max(select_numbers(data, key)), stack=None
    )
    points = _draw_points(base.encode(x=axis), BLUE)
    means = base.transform_aggregate(
        [alt.AggregatedFieldDef(op="mean", field=key, **{"as": key})],
        groupby=["row_place", "row_name"],
    )
    ticks = means.mark_tick(thickness=2, size=16, opacity=1).encode(x=axis)
    return [
        _build_rows(
            table,
            f"{table.id}-dots",
            "Speed-up over FP32 by task, board and precision",
            "Each point is a model, upright lines are means. Higher is better.",
            [points, ticks, write_names(base)],
            len(groups),
        )
    ]


def build_edge_charts(table: ReportTable) -> list[Chart]:
    """The efficiency of small devices, and their energy of an image."""
    charts = (
        (
            "theoretical_efficiency",
            "efficiency",
            "Theoretical efficiency of small devices",
            "descending",
        ),
        ("energy_per_image", "energy", "Energy of an image on small devices", "ascending"),
    )
    return [
        _build_edge_chart(table, key, name, title, order)
        for key, name, title, order in charts
        if any(row[key] is not None for row in table.rows)
    ]


def _build_edge_chart(table: ReportTable, key: str, name: str, title: str, order: Any) -> Chart:
    data = [row for row in table.data if row[key] is not None]
    base = _place_rows(
        alt.Chart(alt.NamedData(table.id)).transform_filter(f"datum.{key} != null"),
        "datum.subject + ' · ' + datum.year",
        alt.SortField(key, order=order),
        alt.SortField("subject"),
    )
    axis = make_log_axis(alt.X, key, table.get_column(key).label, select_numbers(data, key))
    kinds = list(dict.fromkeys(str(row["kind"]) for row in data))
    legend = alt.Legend(columns=3, labelFontSize=12) if len(kinds) > 1 else None
    scale = alt.Scale(domain=kinds, range=[BLUE, BROWN, GREEN][: len(kinds)])
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=axis, fill=alt.Fill("kind:N", scale=scale, legend=legend)
    )
    return _build_rows(
        table,
        f"{table.id}-{name}",
        title,
        "Published. Years are those of the devices.",
        [points, write_names(base)],
        len(data),
    )


def build_check_chart(table: ReportTable) -> list[Chart]:
    """Measured energies of images beside the estimates by the trend."""
    data = [row for row in table.data if row["measured"] is not None]
    if not data:
        return []
    base = _place_rows(
        alt.Chart(alt.NamedData(table.id)).transform_filter("datum.measured != null"),
        "datum.model + ' · ' + datum.board + ' · ' + datum.table",
    )
    values = select_numbers(data, "measured", "measured_fp16", "trend_joules")

    def make_axis(key: str) -> Any:
        return make_log_axis(alt.X, key, "J/image", values)

    estimates = base.transform_filter("datum.trend_joules != null")
    halves = base.transform_filter("datum.measured_fp16 != null")
    layers = [
        estimates.mark_tick(thickness=2, size=16, opacity=1).encode(x=make_axis("trend_joules")),
        _draw_points(base.encode(x=make_axis("measured")), BLUE),
        _draw_points(halves.encode(x=make_axis("measured_fp16")), GREEN),
        write_names(base),
    ]
    return [
        _build_rows(
            table,
            f"{table.id}-dots",
            "Measured energy of an image beside the estimate by the trend",
            "Published. Blue points: measured, in FP32 where the table states a precision; green: "
            "in FP16. Upright lines: trend estimate at the launch of the board.",
            layers,
            len(data),
        )
    ]


def _place_rows(base: Any, name: str, *sort: alt.SortField) -> Any:
    """Rows of equal names share a place."""
    named = base.transform_calculate(row_name=name)
    if not sort:
        return named.transform_window(row_place="row_number()").encode(y=Y_OF_ROWS)
    return named.transform_window(row_place="dense_rank()", sort=list(sort)).encode(y=Y_OF_ROWS)


def _draw_points(base: Any, colour: str) -> Any:
    return base.mark_point(filled=True, size=45, fill=colour, opacity=0.8)


def _build_rows(
    table: ReportTable, id: str, title: str, about: str, layers: Sequence[Any], count: int
) -> Chart:
    return Chart(
        id=id,
        title=title,
        about=about,
        alt=f"{title}, {count} rows. The table has the same values.",
        table=table,
        spec=build_row_spec(layers, count, _ROW_PX),
        width_px=NARROW_WIDTH_PX,
    )
