"""The layout of charts of rows: places, names and shaded spans."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from reporting.charts.style import INK, Data, build_spec
from rules.bundle_format.records import Json

MAX_ROWS = 24
"""Maximum number of rows in a chart. The caption says if there are more."""
ROW_PX = 36
_NAME_PX = (7, 20)
"""Where the name of a row is, above the middle of the row."""
_LETTER_PX = 7
"""More than the mean width of a letter in the name of a row."""
_MAX_LETTERS = 120
"""Letters of the name of a row that a chart writes. Few names of so many fit into its width."""
_SPAN_PX = 16
"""Height of a shaded span, below the name of its row."""
COMPARED = "!datum.doubt && !datum.withheld && !datum.implausible"
"""Vega expression of a result that may win. Others are hollow and stand below."""
NAME_STYLE = {
    "align": "left",
    "baseline": "bottom",
    "x": 2,
    "dy": -9,
    "fontSize": 11,
    # For a text with a limit, the renderer measures its width twice, which takes 90 µs a letter. A
    # short name needs no limit.
    "limit": alt.ExprRef(f"length(datum.row_name) * {_LETTER_PX} < width ? 0 : width"),
    "dir": "rtl",
}
"""The style of the name of a row. On a phone, an ellipsis takes the place of the beginning of a
long name, because its end tells the rows of one system apart."""
Y_OF_ROWS = alt.Y(
    "row_place:O", title=None, axis=None, sort="ascending", scale=alt.Scale(type="band", padding=0)
)
"""All rows have the same height, so that `build_row_spec` knows where their names are."""
_NAME = "datum.line + (datum.cap_w == null ? '' : ' · ' + datum.cap_w + ' W')"
"""The Vega expression of the name of a row: its line and cap."""
_BUNDLE_LETTERS = 6
"""The end of the name of a bundle, which tells repeats apart: random letters in those of
`bench-submit`."""
_NAME_OF_RUN = (
    f"{_NAME} + (datum.batch_sizes > 1 && datum.batch ? ' · batch ' + datum.batch : '')"
    f" + (datum.repeats > 1 ? ' · …' + slice(datum.bundle, -{_BUNDLE_LETTERS}) : '')"
)


def place_rows(base: Any, sort: list[alt.SortField] | None = None, name: str = _NAME) -> Any:
    """Place each row of the data on a row of its own, in this order or that of the table. `name`
    is the Vega expression of its name."""
    return _put_on_rows(base.transform_window(row_place="row_number()", sort=sort or []), name)


def place_runs(base: Any, sort: list[alt.SortField] | None = None) -> Any:
    """The same for rows of single runs. Equal names are followed by the batch size where it
    differs, and names that are still equal by the end of their bundle."""
    counted = base.transform_joinaggregate(
        batch_sizes="distinct(batch)", groupby=["line", "cap_w"]
    ).transform_joinaggregate(repeats="count()", groupby=["line", "cap_w", "batch"])
    return place_rows(counted, sort, _NAME_OF_RUN)


def note_equal_names(rows: Data) -> str:
    """The sentence of the caption on equal names; empty without such."""
    names = {(row["line"], row["cap_w"], row.get("batch")) for row in rows}
    if len(names) == len(rows):
        return ""
    return "Equal names are followed by the last letters of their bundle. "


def place_settings(base: Any, key: str) -> Any:
    """Place the runs of a setting on one row, by workload and then by their mean of `key`. Results
    that may not win come last within their workload."""
    sort_keys = ("workload", "held_back", "setting_mean", "setting")
    return _put_on_rows(
        base.transform_joinaggregate(setting_mean=f"mean({key})", groupby=["setting"])
        .transform_calculate(held_back=f"{COMPARED} ? 0 : 1")
        .transform_window(
            row_place="dense_rank()", sort=[alt.SortField(name) for name in sort_keys]
        ),
        "datum.setting",
    )


def _put_on_rows(base: Any, name: str = _NAME) -> Any:
    first_rows = base.transform_filter(f"datum.row_place <= {MAX_ROWS}").transform_calculate(
        row_name=name
    )
    return first_rows.encode(y=Y_OF_ROWS)


def write_names(base: Any) -> Any:
    """Write the name of each row above its marks, so that there is room for it on a phone too."""
    # To fit a name of 4 096 letters into the width, the renderer needs seconds.
    end = f"'…' + slice(datum.row_name, -{_MAX_LETTERS})"
    # Several marks of a row have one name.
    return (
        base.transform_aggregate(groupby=["row_place", "row_name"])
        .transform_calculate(
            row_name=f"length(datum.row_name) > {_MAX_LETTERS} ? {end} : datum.row_name"
        )
        .mark_text(**NAME_STYLE)
        .encode(text=alt.Text("row_name:N"))
    )


def shade(base: Any, start: Any, end: str) -> Any:
    """Shade in each row what cannot be told apart because of the spread between boards, from the
    axis `start` to the field `end`."""
    return base.mark_bar(height=_SPAN_PX, fill=INK, opacity=0.13).encode(
        x=start, x2=alt.X2(f"{end}:Q")
    )


def note_limit(count: int, what: str = "rows of the table") -> str:
    """The start of the caption of a chart that does not draw all rows; else empty."""
    return f"First {MAX_ROWS} of {count} {what}. " if count > MAX_ROWS else ""


def build_row_spec(layers: Sequence[Any], count: int, row_px: int = ROW_PX) -> Json:
    """The Vega-Lite of a chart of so many rows. The lines of the grid have gaps at the names."""
    spec = build_spec(alt.layer(*layers), row_px * min(count, MAX_ROWS))
    # The lines begin at the lower end of the last row.
    low_px, high_px = _NAME_PX
    grid = {
        "gridDash": [row_px - high_px + low_px, high_px - low_px],
        "gridDashOffset": row_px // 2 - high_px,
    }
    for layer in spec["layer"]:
        x = layer["encoding"].get("x", {})
        if "axis" in x:
            x["axis"] = {**x["axis"], **grid}
    return spec
